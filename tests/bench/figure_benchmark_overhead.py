"""What the runner of a benchmark adds to each step beyond the world's time and the agent's."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gym_anything.benchmark.results_reading import read_experiment
from tests.bench.small_runs import exp_dir, start, write_small_benchmark
from tests.bench.timing_agent import FILE

EPISODES, STEPS = 8, 250
WARM_UP = 10


def overheads_ms(agent: list[tuple[float, float]], world_ms: Mapping[int, float]) -> list[float]:
    """Return for each step the time between the agent's answer and its next question, less the environment's step."""
    gaps = itertools.pairwise(agent)
    return [(after[0] - before[1]) * 1000 - world_ms[number] for number, (before, after) in enumerate(gaps, 1)]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ga-benchmark-overhead-") as name:
        folder = Path(name)
        write_small_benchmark(folder, EPISODES)
        lines = folder / "timing.jsonl"
        arguments = ["--agent", "tests.bench.timing_agent:TimingAgent", "--agent-arg", f"steps={STEPS}"]
        arguments += ["--steps", str(STEPS + 1), "--timing-jsonl", str(lines), "--expect", "failed"]
        with start(folder, *arguments, stdout=subprocess.DEVNULL) as run:
            code = run.wait(timeout=600)
        if code != 0:
            raise SystemExit(f"the run ended with {code}")
        world: dict[str, dict[int, float]] = {}
        for row in map(json.loads, lines.read_text().splitlines()):
            world.setdefault(row["task"], {})[row["step"]] = row["env_step_ms"]
        experiment = read_experiment(exp_dir(folder))
        overhead: list[float] = []
        for result in experiment.rows:
            episode = experiment.episode_dir(result)
            assert episode is not None
            overhead += overheads_ms(json.loads((episode / FILE).read_text()), world[result.task])[WARM_UP:]
    values = sorted(overhead)
    summary = {
        "overhead_ms_p50": round(statistics.median(values), 3),
        "overhead_ms_p99": round(values[int(0.99 * len(values))], 3),
        "overhead_ms_mean": round(statistics.fmean(values), 3),
        "env_step_ms_p50": round(statistics.median(ms for steps in world.values() for ms in steps.values()), 3),
        "steps": len(values),
    }
    conditions = (
        "fake worlds, frames of 64x48, one episode at a time, timings of each step written; from the agent's answer to its "
        "next question, less the time in the environment's step"
    )
    print(
        json.dumps(
            {"summary": summary, "series": {"overhead_ms": [round(v, 3) for v in values]}, "conditions": conditions}
        )
    )


if __name__ == "__main__":
    main()
