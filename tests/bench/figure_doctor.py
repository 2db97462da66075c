"""How long `gym-anything doctor --json` takes as a whole process, and how many things it tries meanwhile."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

RUNS = 7


def main() -> None:
    series: dict[str, list[float]] = {"doctor_s": []}
    checks = 0
    for _ in range(RUNS):
        began = time.perf_counter()
        command = [sys.executable, "-m", "gym_anything.cli.main", "doctor", "--json"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        series["doctor_s"].append(round(time.perf_counter() - began, 2))
        checks = len(json.loads(result.stdout)["checks"])
    summary = {
        "doctor_s_p50": round(statistics.median(series["doctor_s"]), 2),
        "doctor_s_max": max(series["doctor_s"]),
        "checks": checks,
    }
    print(json.dumps({"summary": summary, "series": series, "conditions": "whole processes, one after the other"}))


if __name__ == "__main__":
    main()
