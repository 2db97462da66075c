"""A thousand episodes on fake worlds in one `benchmark` run: how long, and whether what lives as long as the run grows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gym_anything._util import proc
from gym_anything.benchmark.results_reading import read_experiment
from tests.bench.small_runs import exp_dir, start, write_small_benchmark

TASKS, RUNS, PARALLEL = 20, 50, 4
WARM_UP, EVERY = 100, 25
SERVERS = ("nursery_process", "judge_process.server")


def long_lived(pid: int) -> list[int]:
    """Return the run itself, its nursery and its judge server; forks of these have the same command line and are younger."""
    found = [pid]
    below = proc.descendants(pid)
    for server in SERVERS:
        those = [p for p in below if any(server in word for word in proc.command_line(p))]
        ages = [(ticks, p) for p in those if (ticks := proc.start_ticks(p)) is not None]
        found += [min(ages)[1]] if ages else []
    return found


def look(pids: list[int]) -> dict[str, float]:
    return {
        "memory_mib": round(sum(proc.rss_kib(p) for p in pids) / 1024, 1),
        "fds": sum(len(proc.open_fds(p)) for p in pids),
        "threads": sum(sum(1 for _ in Path(f"/proc/{p}/task").iterdir()) for p in pids),
    }


def main() -> None:
    series: dict[str, list[float]] = {"episodes": []}
    with tempfile.TemporaryDirectory(prefix="ga-benchmark-flat-") as name:
        folder = Path(name)
        write_small_benchmark(folder, TASKS)
        began = time.monotonic()
        arguments = ("--agent", "oracle", "--min-runs", str(RUNS), "--parallel", str(PARALLEL), "--expect", "passed")
        with start(folder, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            assert run.stderr is not None
            ended = 0
            for line in run.stderr:
                ended += "steps," in line
                if "steps," not in line:
                    print(line, end="", file=sys.stderr)
                elif ended % EVERY == 0 and ended < TASKS * RUNS:
                    series["episodes"].append(ended)
                    for key, value in look(long_lived(run.pid)).items():
                        series.setdefault(key, []).append(value)
        seconds = time.monotonic() - began
        rows = read_experiment(exp_dir(folder)).counted()
    passed = sum(row.status == "passed" for row in rows)
    if run.returncode != 0 or passed != TASKS * RUNS:
        raise SystemExit(f"exit code {run.returncode}, {passed} of {TASKS * RUNS} passed")
    first = series["episodes"].index(WARM_UP)
    summary = {
        "episodes": len(rows),
        "seconds": round(seconds, 1),
        "memory_growth_mib": round(series["memory_mib"][-1] - series["memory_mib"][first], 1),
        "memory_mib": series["memory_mib"][-1],
        "fds_growth": series["fds"][-1] - series["fds"][first],
        "threads_growth": series["threads"][-1] - series["threads"][first],
        "episode_ms_p50": round(1000 * sorted(row.duration_s for row in rows)[len(rows) // 2], 1),
    }
    conditions = (
        f"fake worlds, frames of 64x48, oracle, program verifiers, {PARALLEL} at a time; the command from start to end, its "
        f"table printed; resident memory of the run, its nursery and its judge server together, from episode {WARM_UP} to the last"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
