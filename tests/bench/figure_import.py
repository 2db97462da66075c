"""How long `import gym_anything` and `gym-anything --help` take, as whole processes and beyond a bare interpreter."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    python = sys.executable
    commands = {
        "bare_python": [python, "-c", "pass"],
        "import": [python, "-c", "import gym_anything"],
        "help": [str(Path(python).parent / "gym-anything"), "--help"],
    }
    series: dict[str, list[float]] = {f"{name}_ms": [] for name in commands}
    for _ in range(21):
        for name, command in commands.items():
            series[f"{name}_ms"].append(round(seconds(command) * 1000, 2))
    summary = {f"{key}_p50": round(statistics.median(values[1:]), 1) for key, values in series.items()}
    print(json.dumps({"summary": summary, "series": series, "conditions": "whole processes, interleaved, warm cache"}))


if __name__ == "__main__":
    main()
