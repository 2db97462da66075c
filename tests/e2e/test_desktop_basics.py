"""Our own benchmark on real desktops: the oracle passes, doing nothing and near misses fail, and nothing is broken.

Every oracle and near miss is made of contract actions only, so this also says that real applications take our input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.execute import execute
from gym_anything.benchmark.layout import Benchmark
from gym_anything.benchmark.plan import Choice, plan_benchmark
from gym_anything.benchmark.process_executor import ProcessExecutor
from gym_anything.benchmark.results import ResultsFolder
from gym_anything.runtime.runners.facts import runner_status
from gym_anything.runtime.runners.registry import resolve_runner
from tests.conftest import RequireBackend

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2] / "benchmarks" / "desktop_basics"


@pytest.mark.parametrize(
    ("agent", "arguments", "status"),
    [
        ("oracle", {}, "passed"),
        ("oracle", {"solution": "near_miss_1.json"}, "failed"),
        ("oracle", {"solution": "near_miss_2.json"}, "failed"),
        ("noop", {}, "failed"),
    ],
    ids=["oracle", "near-miss-1", "near-miss-2", "do-nothing"],
)
def test_every_task_ends_as_it_must(
    tmp_path: Path, require_backend: RequireBackend, agent: str, arguments: dict[str, Any], status: str
) -> None:
    """V3: doing nothing does not pass."""
    local = runner_status(resolve_runner("local"))
    require_backend("local", local.available, local.reason or "")
    results = ResultsFolder(tmp_path / "all_runs", "desktop_basics")
    template = EpisodeRequest(env_dir="", env="", task="", agent=agent, agent_args=arguments, seed=0, fast_io=True)
    plan = plan_benchmark(Benchmark("desktop_basics", ROOT), Choice(), template, results)
    assert len(plan.requests) >= 6
    runs = execute(plan.requests, ProcessExecutor(), results, jobs=2)
    wrong = {
        run.record.request["task"]: (run.record.outcome.status, run.record.outcome.story)
        for run in runs
        if run.record.outcome.status != status
    }
    assert wrong == {}
    assert len(runs) == len(plan.requests)
