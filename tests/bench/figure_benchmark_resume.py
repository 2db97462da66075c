"""A `benchmark` run that is killed by SIGKILL at fifty random moments and resumed each time: what is lost, redone or left."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.benchmark.results import INFO_FILE
from gym_anything.benchmark.results_reading import read_experiment
from gym_anything.errors import DeadlineExceeded
from tests.bench.small_runs import MARK, exp_dir, start, write_small_benchmark
from tests.integration.benchmark.marked_processes import processes_with

KILLS = 50
TASKS, RUNS, PARALLEL = 20, 100, 3
EARLIEST_S, LATEST_S = 0.5, 5.0
GONE_S = 30.0
ARGUMENTS = ("--agent", "oracle", "--min-runs", str(RUNS), "--parallel", str(PARALLEL), "--skip-existing")


def results(folder: Path) -> dict[str, str]:
    """Return every finished result and a digest of it."""
    files = exp_dir(folder).glob(f"*/*/*/run_*/{INFO_FILE}")
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def kill_one(folder: Path, after_s: float) -> tuple[bool, float, int]:
    """Start the run and kill it after so many seconds.

    Returns: whether it was still running, how long its processes took to go, how many stayed.
    """
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with start(folder, *ARGUMENTS, **silent) as run:
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=after_s)
        was_running = run.poll() is None
        run.kill()
    began = time.monotonic()
    with contextlib.suppress(DeadlineExceeded):
        nobody = lambda: not processes_with(MARK, str(folder))  # noqa: E731
        wait_until(nobody, deadline=Deadline.after(GONE_S), awaited="the end of all that the run had started")
    return was_running, time.monotonic() - began, len(processes_with(MARK, str(folder)))


def main() -> None:
    chance = random.Random(6)
    series: dict[str, list[float]] = {"killed_after_s": [], "gone_after_s": [], "finished": []}
    lost = changed = left = running = 0
    with tempfile.TemporaryDirectory(prefix="ga-benchmark-resume-") as name:
        folder = Path(name)
        write_small_benchmark(folder, TASKS)
        before = results(folder)
        for number in range(KILLS):
            after_s = chance.uniform(EARLIEST_S, LATEST_S)
            was_running, gone_s, stayed = kill_one(folder, after_s)
            running += was_running
            now = results(folder)
            lost += len(before.keys() - now.keys())
            changed += sum(now.get(file, digest) != digest for file, digest in before.items())
            left += stayed
            before = now
            for key, value in (("killed_after_s", after_s), ("gone_after_s", gone_s), ("finished", len(now))):
                series[key].append(round(value, 3))
            print(f"kill {number + 1}: {len(now)} finished, {stayed} processes left", file=sys.stderr, flush=True)
        with start(folder, *ARGUMENTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            code = run.wait(timeout=600)
        experiment = read_experiment(exp_dir(folder))
        after = results(folder)
    lost += len(before.keys() - after.keys())
    changed += sum(after.get(file, digest) != digest for file, digest in before.items())
    counts = Counter(row.key for row in experiment.rows if row.says_something)
    if code != 0:
        raise SystemExit(f"the last run ended with {code}")
    summary = {
        "kills": KILLS,
        "killed_while_running": running,
        "lost": lost,
        "changed": changed,
        "redone": sum(count - 1 for count in counts.values()),
        "missing": TASKS * RUNS - len(counts),
        "processes_left": left,
        "cut_off": len(experiment.unfinished),
        "finished_before_last_run": len(before),
        "gone_after_s_max": max(series["gone_after_s"]),
    }
    conditions = (
        f"fake worlds, oracle, {TASKS * RUNS} episodes, {PARALLEL} at a time; killed {EARLIEST_S:g} to {LATEST_S:g} s after its start, "
        "resumed with --skip-existing, and at last played to the end"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
