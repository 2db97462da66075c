"""All of `desktop_basics` with the oracle, four episodes at a time, three runs in a row: how long, and the same each time."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "desktop_basics"
RUNS = 3
PARALLEL = 4


def run(folder: Path) -> tuple[float, dict[str, Any]]:
    """Play every task once; returns seconds of wall time and the report."""
    argv = [sys.executable, "-m", "gym_anything.cli.main", "benchmark", "all", "--benchmark", str(BENCHMARK), "--json"]
    argv += ["--agent", "oracle", "--fast-io", "--seed", "0", "--parallel", str(PARALLEL), "--results-dir", str(folder)]
    began = time.monotonic()
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=1800, check=False)
    seconds = time.monotonic() - began
    if not done.stdout.lstrip().startswith("{"):
        raise SystemExit(f"the benchmark ended with {done.returncode} and without a report: {done.stdout[-2000:]}")
    return seconds, json.loads(done.stdout)


def main() -> None:
    seconds, verdicts, episodes = [], [], []
    for number in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="ga-desktop-basics-") as folder:
            took, report = run(Path(folder))
        seconds.append(round(took, 1))
        rows = report["episodes"]
        verdicts.append({row["task"]: (row["status"], row["outcome"]["score"]) for row in rows})
        episodes += [round(row["duration_s"], 1) for row in rows]
        other = {row["task"]: row["outcome"]["story"] for row in rows if row["status"] != "passed"}
        print(f"run {number + 1}: {took:.0f} s; not passed: {other or 'none'}", file=sys.stderr, flush=True)
    passed = [sum(status == "passed" for status, _ in run.values()) for run in verdicts]
    summary = {
        "whole_run_s": max(seconds),
        "tasks": len(verdicts[0]),
        "not_passed": len(verdicts[0]) - min(passed),
        "runs": RUNS,
        "runs_that_differ": sum(run != verdicts[0] for run in verdicts),
        "episode_median_s": sorted(episodes)[len(episodes) // 2],
    }
    series = {"whole_run_s": seconds, "passed": passed, "episode_s": episodes}
    conditions = f"local worlds, oracle, fast I/O, 1920x1080, recorded as always, {PARALLEL} episodes at a time"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
