"""Planning: which episodes a benchmark run consists of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.layout import Benchmark
from gym_anything.benchmark.plan import Choice, Plan, digest_or_none, plan_benchmark
from gym_anything.benchmark.results import ResultsFolder, finish_run
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import SpecInvalid, SpecNotFound
from tests.unit.benchmark.small_benchmark import write_env, write_split, write_task

pytestmark = pytest.mark.unit

TEMPLATE = EpisodeRequest(env_dir="", env="", task="", agent="noop", model="noop", seed=3)


@pytest.fixture
def small(tmp_path: Path) -> Benchmark:
    root = tmp_path / "small"
    write_env(root, "notes", ("a", "b", "c"))
    write_env(root, "other", ("x", "a"))
    write_split(root, "notes", train_tasks=["b", "a"], test_tasks=["c", "gone"])
    return Benchmark("small", root)


@pytest.fixture
def results(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder(tmp_path / "all_runs", "exp")


def names(plan: Plan) -> list[str]:
    return [f"{r.env}/{r.task}" for r in plan.requests]


def record(results: ResultsFolder, request: EpisodeRequest, outcome: Outcome, **more: object) -> None:
    digest = digest_or_none(request)
    made = EpisodeRecord(request.public(), outcome, task_digest=digest)
    finish_run(results.new_run_dir(request), replace(made, **more))  # type: ignore[arg-type]


def test_all_takes_every_environment_in_order_and_reports_tasks_that_are_gone(
    small: Benchmark, results: ResultsFolder
) -> None:
    plan = plan_benchmark(small, Choice(), TEMPLATE, results)
    assert names(plan) == ["notes/b", "notes/a", "notes/c", "other/a", "other/x"]
    assert plan.problems == ()
    assert len(plan.remarks) == 1
    assert "gone" in plan.remarks[0]
    first = plan.requests[0]
    assert (first.benchmark, first.split, first.surface, first.seed, first.attempt) == ("small", "all", "raw", 3, 0)
    assert Path(first.env_dir) == small.env_dir("notes")


def test_a_split_an_environment_patterns_and_a_bound(small: Benchmark, results: ResultsFolder) -> None:
    def planned(**choice: object) -> list[str]:
        return names(plan_benchmark(small, Choice(**choice), TEMPLATE, results))  # type: ignore[arg-type]

    assert planned(env="notes", split="train") == ["notes/b", "notes/a"]
    assert planned(env="notes", split="disk", max_tasks=2) == ["notes/a", "notes/b"]
    assert planned(tasks=("a",)) == ["notes/a", "other/a"]
    assert planned(tasks=("[bx]",)) == ["notes/b", "other/x"]


@pytest.mark.parametrize(
    ("choice", "names_what"),
    [
        (Choice(env="notse"), "notes"),
        (Choice(env="notes", split="trian"), "train"),
        (Choice(env="notes", tasks=("zz",)), "zz"),
        (Choice(surface="verified"), "verified"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_what_exists(
    small: Benchmark, results: ResultsFolder, choice: Choice, names_what: str
) -> None:
    with pytest.raises(SpecNotFound, match=names_what):
        plan_benchmark(small, choice, TEMPLATE, results)


def test_a_broken_split_file_stops_its_own_environment_only(small: Benchmark, results: ResultsFolder) -> None:
    (small.root / "splits" / "notes_split.json").write_text("{", "utf-8")
    plan = plan_benchmark(small, Choice(), TEMPLATE, results)
    assert names(plan) == ["other/a", "other/x"]
    assert plan.problems
    with pytest.raises(SpecInvalid):
        plan_benchmark(small, Choice(env="notes"), TEMPLATE, results)


def test_a_task_that_does_not_parse_is_planned_all_the_same(small: Benchmark, results: ResultsFolder) -> None:
    root = write_task(small.env_dir("other"), "cut_off")
    (root / "task.json").write_text('{"id": ', "utf-8")
    assert "other/cut_off" in names(plan_benchmark(small, Choice(), TEMPLATE, results))


def test_several_runs_go_round_by_round(small: Benchmark, results: ResultsFolder) -> None:
    plan = plan_benchmark(small, Choice(env="notes", split="train", min_runs=2), TEMPLATE, results)
    assert [(r.task, r.attempt) for r in plan.requests] == [("b", 0), ("a", 0), ("b", 1), ("a", 1)]


def test_resuming_plays_only_what_is_missing(small: Benchmark, results: ResultsFolder) -> None:
    """V6: resume repeats only what was unfinished."""
    choice = Choice(env="notes", split="disk", min_runs=2, skip_existing=True)
    everything = plan_benchmark(small, choice, TEMPLATE, results).requests
    assert len(everything) == 6
    record(results, everything[0], Outcome.passed(100))
    record(results, everything[1], Outcome.failed(0))
    results.new_run_dir(everything[2])  # begun, never finished
    plan = plan_benchmark(small, choice, TEMPLATE, results)
    assert [(r.task, r.attempt) for r in plan.requests] == [("c", 0), ("a", 1), ("b", 1), ("c", 1)]
    assert [run.record.outcome.status for run in plan.existing] == ["passed", "failed"]


def test_what_does_not_count_is_played_again(small: Benchmark, results: ResultsFolder) -> None:
    """A broken or interrupted run, another seed, agent or limit, or a task that has changed says nothing about this."""
    choice = Choice(env="notes", tasks=("a",), skip_existing=True)
    (request,) = plan_benchmark(small, choice, TEMPLATE, results).requests
    record(results, request, Outcome.broken("world", "lost"))
    record(results, request, Outcome.passed(100), interrupted=True)
    for other in ({"seed": 4}, {"agent": "random"}, {"max_steps": 5}, {"agent_args": {"a": 1}}):
        record(results, replace(request, **other), Outcome.passed(100))  # type: ignore[arg-type]
    (again,) = plan_benchmark(small, choice, TEMPLATE, results).requests
    assert replace(again, attempt=0) == request
    record(results, again, Outcome.passed(100))
    assert plan_benchmark(small, choice, TEMPLATE, results).requests == ()
    (request.task_root / "task.json").write_text('{"id": "changed"}', "utf-8")
    assert len(plan_benchmark(small, choice, TEMPLATE, results).requests) == 1


WORLDS: list[dict[str, Any]] = [
    {"runner": "qemu"},
    {"fast_io": True},
    {"pacing": "settle"},
    {"use_cache": True},
    {"cache_level": "post_start"},
    {"use_savevm": True},
    {"overrides": {"resources": {"cpu": 2}}},
]


@pytest.mark.parametrize("other", WORLDS, ids=lambda other: next(iter(other)))
def test_a_run_in_another_kind_of_world_is_no_run_in_this_one(
    small: Benchmark, results: ResultsFolder, other: dict[str, Any]
) -> None:
    choice = Choice(env="notes", tasks=("a",), skip_existing=True)
    (request,) = plan_benchmark(small, choice, TEMPLATE, results).requests
    record(results, request, Outcome.passed(100), runner="local")
    elsewhere = replace(TEMPLATE, **other)
    (asked,) = plan_benchmark(small, choice, elsewhere, results).requests
    record(results, asked, Outcome.passed(100), runner=asked.runner or "local")
    assert plan_benchmark(small, choice, elsewhere, results).requests == ()
    assert plan_benchmark(small, choice, TEMPLATE, results).requests == ()


def test_a_runner_and_a_judge_that_the_environment_names_are_compared_too(
    small: Benchmark, results: ResultsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = Choice(env="notes", tasks=("a",), skip_existing=True)
    (request,) = plan_benchmark(small, choice, TEMPLATE, results).requests
    record(results, request, Outcome.passed(100), runner="local", verifier={"mode": "program", "mode_source": "task"})

    def missing(**environment: str) -> int:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            return len(plan_benchmark(small, choice, TEMPLATE, results).requests)

    assert (missing(), missing(GYM_ANYTHING_RUNNER="local"), missing(GYM_ANYTHING_RUNNER="qemu")) == (0, 0, 1)
    assert missing(GYM_ANYTHING_VERIFIER_MODE="vlm-checklist") == 1
    assert missing(GYM_ANYTHING_VERIFIER_MODE="program") == missing(GYM_ANYTHING_VERIFIER_MODE="task") == 0
    by_checklist = {"mode": "vlm_checklist", "mode_source": "environment"}
    record(results, replace(request, seed=4), Outcome.passed(100), runner="local", verifier=by_checklist)
    assert len(plan_benchmark(small, choice, replace(TEMPLATE, seed=4), results).requests) == 1


def test_an_older_record_is_not_compared_in_what_it_does_not_hold(small: Benchmark, results: ResultsFolder) -> None:
    choice = Choice(env="notes", tasks=("a",), skip_existing=True)
    template = replace(TEMPLATE, agent_args={"instructions": "be quick"})
    (request,) = plan_benchmark(small, choice, template, results).requests
    held = ("agent", "seed", "max_steps", "time_limit_s", "step_deadline_s", "env", "task", "model")
    older = {name: getattr(request, name) for name in held} | {"agent_args": dict(request.agent_args)}
    made = EpisodeRecord(older, Outcome.passed(100), task_digest=digest_or_none(request))
    finish_run(results.new_run_dir(request), made)
    assert plan_benchmark(small, choice, template, results).requests == ()
    slow = replace(template, agent_args={"instructions": "be slow"})
    assert len(plan_benchmark(small, choice, slow, results).requests) == 1


def test_model_env_task_seed_and_attempt_name_one_result(small: Benchmark, results: ResultsFolder) -> None:
    """V7: a new run takes an attempt that no result has; what was cut off or broken leaves its attempt free."""
    choice = Choice(env="notes", tasks=("a",), min_runs=3)
    first, second, third = plan_benchmark(small, choice, TEMPLATE, results).requests
    record(results, second, Outcome.passed(100))
    record(results, third, Outcome.broken("world", "lost"))
    resumed = plan_benchmark(small, replace(choice, skip_existing=True), TEMPLATE, results).requests
    assert [request.attempt for request in resumed] == [0, 2]
    anew = plan_benchmark(small, choice, TEMPLATE, results).requests
    assert [request.attempt for request in anew] == [0, 2, 3]
    other_seed = plan_benchmark(small, choice, replace(TEMPLATE, seed=4), results).requests
    assert [request.attempt for request in other_seed] == [0, 1, 2]
    assert first.attempt == 0
