"""Which episodes a benchmark run consists of.

Planning parses no task: a broken one becomes a broken result with its own story and stops nothing. What a split lists
but no folder holds, and what names a broken split file, is reported beside the plan.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gym_anything.benchmark.digest import task_digest
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.layout import Benchmark
from gym_anything.benchmark.results import FinishedRun, ResultsFolder
from gym_anything.benchmark.splits import Splits, Surface, load_splits
from gym_anything.errors import SpecError, SpecNotFound
from gym_anything.specs.near_miss import suggestion

ALL_ENVIRONMENTS = "all"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tasks to take.

    Attributes:
        env: an environment's name, or ``all``.
        split, surface: see ``benchmark.splits``.
        tasks: names or patterns (``*`` and ``?``); none takes every task of the split.
        max_tasks: at most so many, the first ones; None is no bound.
        min_runs: runs of each task.
        skip_existing: count finished runs that are there already, and only add what is missing.
    """

    env: str = ALL_ENVIRONMENTS
    split: str = "all"
    surface: Surface = "raw"
    tasks: Sequence[str] = ()
    max_tasks: int | None = None
    min_runs: int = 1
    skip_existing: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The episodes to play.

    Attributes:
        requests: in the order to start them.
        existing: runs that were there already and count.
        problems: what was asked for and cannot be planned, one sentence each.
        remarks: what is odd and stops nothing: tasks that a split lists and no folder holds.
    """

    requests: tuple[EpisodeRequest, ...]
    existing: tuple[FinishedRun, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def plan_benchmark(benchmark: Benchmark, choice: Choice, template: EpisodeRequest, results: ResultsFolder) -> Plan:
    """Return the plan of a benchmark run.

    Args:
        template: everything that is the same for all episodes; ``env_dir``, ``env``, ``task`` … are filled in.
        results: where finished runs are looked for.
    Raises: SpecNotFound when a named environment, split or task does not exist (lists what does); SpecInvalid when
        the named environment's split file is broken.
    """
    splits = load_splits(benchmark)
    one = choice.env != ALL_ENVIRONMENTS
    chosen, problems, remarks = [], [], []
    for env in [choice.env] if one else benchmark.environments():
        try:
            selection = splits.select(env, choice.split, choice.surface)
        except SpecError as error:
            if one or (choice.surface == "verified" and splits.verified is None):
                raise
            problems.append(f"{env}: {error}")
            continue
        remarks += [f"{env}/{task}: listed in the split but there is no such folder" for task in selection.gone]
        chosen += [(env, task) for task in _matching(selection.tasks, choice.tasks)]
    problems += [str(error) for error in splits.errors]
    _check_found(chosen, choice, splits)
    requests, existing = _runs_of(benchmark, chosen[: choice.max_tasks], choice, template, results)
    return Plan(tuple(requests), tuple(existing), tuple(problems), tuple(remarks))


def _runs_of(
    benchmark: Benchmark,
    chosen: Sequence[tuple[str, str]],
    choice: Choice,
    template: EpisodeRequest,
    results: ResultsFolder,
) -> tuple[list[EpisodeRequest], list[FinishedRun]]:
    """Turn tasks into runs: round by round, so that a run that is cut off has covered every task.

    A new run never takes the attempt of a result that is there: model, env, task, seed and attempt name one result.
    """
    rounds: list[list[EpisodeRequest]] = [[] for _ in range(choice.min_runs)]
    existing: list[FinishedRun] = []
    for env, task in chosen:
        request = replace(
            template,
            env_dir=str(benchmark.env_dir(env)),
            env=env,
            task=task,
            benchmark=benchmark.name,
            split=choice.split,
            surface=choice.surface,
        )
        done = results.counting(request, digest_or_none(request)) if choice.skip_existing else []
        existing += done
        missing = choice.min_runs - len(done)
        for number, attempt in enumerate(results.free_attempts(request, max(0, missing)), len(done)):
            rounds[number].append(replace(request, attempt=attempt))
    return [request for each in rounds for request in each], existing


def digest_or_none(request: EpisodeRequest) -> str | None:
    """Return the digest of a request's task folder; None when it cannot be read (the episode will say why)."""
    try:
        return task_digest(request.task_root)
    except OSError:
        return None


def _matching(tasks: Sequence[str], patterns: Sequence[str]) -> list[str]:
    if not patterns:
        return list(tasks)
    return [task for task in tasks if any(fnmatch.fnmatchcase(task, pattern) for pattern in patterns)]


def _check_found(chosen: Sequence[tuple[str, str]], choice: Choice, splits: Splits) -> None:
    """Raise for a task that was named and matched nothing."""
    for pattern in choice.tasks:
        if any(fnmatch.fnmatchcase(task, pattern) for _, task in chosen):
            continue
        names: list[str] = []
        if choice.env != ALL_ENVIRONMENTS:
            names = list(splits.select(choice.env, choice.split, choice.surface).tasks)
        fix = suggestion(pattern, names, "there are") if names else "see `gym-anything list tasks`"
        raise SpecNotFound(
            f"no task {pattern!r} in split {choice.split!r} of {choice.env}; {fix}", detail={"key": pattern, "fix": fix}
        )
