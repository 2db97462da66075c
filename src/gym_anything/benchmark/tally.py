"""What the runs of one group come to: counts, the pass rate and how sure it is, pass@k, time, cost. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_anything.benchmark.rates import CONFIDENCE, Interval, pass_at_k, wilson_interval
from gym_anything.benchmark.result_row import ResultRow

TaskKey = tuple[str, str, str]
"""Benchmark, environment, task (their names)."""

UNRATED, UNTAGGED = "(not rated)", "(no tag)"


@dataclass(frozen=True, slots=True)
class PassAtK:
    """The chance that one of ``k`` runs of a task passes: the mean over the ``tasks`` that have so many runs."""

    k: int
    value: float
    tasks: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What a group of runs comes to. Broken and interrupted runs are in no rate and no mean: they say nothing.

    Attributes:
        runs: all of them. tasks: different tasks among them; judged_tasks: those with a run that says something.
        passed, failed, broken, interrupted: how the runs ended; together they are ``runs``.
        blames: broken runs by who has to act.
        rate, interval: passed of passed and failed, and its confidence interval; None when there is neither.
        mean_score: 0..100.
        pass_at: for each asked ``k`` that some task has enough runs for.
        median_s, mean_steps: of the runs that say something. total_s: of all, broken ones cost time as well.
        cost_usd: of all; None unless every run knows its cost.
    """

    runs: int
    tasks: int
    judged_tasks: int
    passed: int
    failed: int
    broken: int
    interrupted: int
    blames: Mapping[str, int]
    rate: float | None
    interval: Interval | None
    mean_score: float | None
    pass_at: tuple[PassAtK, ...]
    median_s: float | None
    mean_steps: float | None
    total_s: float
    cost_usd: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "runs": self.runs,
            "tasks": self.tasks,
            "judged_tasks": self.judged_tasks,
            "passed": self.passed,
            "failed": self.failed,
            "broken": self.broken,
            "broken_by_blame": dict(self.blames),
            "interrupted": self.interrupted,
            "pass_rate": _rounded(self.rate, 6),
            "interval": [round(self.interval.low, 6), round(self.interval.high, 6)] if self.interval else None,
            "mean_score": _rounded(self.mean_score, 3),
            "pass_at_k": [{"k": p.k, "value": round(p.value, 6), "tasks": p.tasks} for p in self.pass_at],
            "median_duration_s": _rounded(self.median_s, 3),
            "mean_steps": _rounded(self.mean_steps, 3),
            "total_duration_s": round(self.total_s, 3),
            "cost_usd": _rounded(self.cost_usd, 6),
        }


def tally(rows: Sequence[ResultRow], ks: Iterable[int] = (1,), confidence: float = CONFIDENCE) -> Tally:
    """Return what rows come to."""
    judged = [row for row in rows if row.says_something]
    passed = sum(row.status == "passed" for row in judged)
    interrupted = sum(row.interrupted for row in rows)
    broken = [row for row in rows if row.status == "broken" and not row.interrupted]
    by_task = passes_by_task(judged)
    return Tally(
        runs=len(rows),
        tasks=len({task_key(row) for row in rows}),
        judged_tasks=len(by_task),
        passed=passed,
        failed=len(judged) - passed,
        broken=len(broken),
        interrupted=interrupted,
        blames=dict(sorted(Counter(str(row.blame) for row in broken).items())),
        rate=passed / len(judged) if judged else None,
        interval=wilson_interval(passed, len(judged), confidence),
        mean_score=statistics.fmean(row.score for row in judged) if judged else None,
        pass_at=tuple(found for k in ks if (found := _pass_at(k, by_task)) is not None),
        median_s=statistics.median(row.duration_s for row in judged) if judged else None,
        mean_steps=statistics.fmean(row.steps for row in judged) if judged else None,
        total_s=sum(row.duration_s for row in rows),
        cost_usd=known_total(row.cost_usd for row in rows),
    )


def known_total(values: Iterable[float | None]) -> float | None:
    """Return the sum; None when there is nothing, or something that is not known: a part would pass for the whole."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if known and len(known) == len(found) else None


def task_key(row: ResultRow) -> TaskKey:
    """Return which task a run was of."""
    return row.benchmark, row.env, row.task


def passes_by_task(judged: Iterable[ResultRow]) -> dict[TaskKey, tuple[int, int]]:
    """Return (passed, runs) of each task; for rows that say something."""
    found: dict[TaskKey, tuple[int, int]] = {}
    for row in judged:
        passed, runs = found.get(task_key(row), (0, 0))
        found[task_key(row)] = passed + (row.status == "passed"), runs + 1
    return found


def default_ks(rows: Iterable[ResultRow]) -> tuple[int, ...]:
    """Return 1, and the number of runs that every task has that has any."""
    counts = [runs for _, runs in passes_by_task(row for row in rows if row.says_something).values()]
    return (1,) if not counts or min(counts) == 1 else (1, min(counts))


# --- groups ------------------------------------------------------------------------------------------------------


GROUPINGS: Mapping[str, Callable[[ResultRow], Sequence[str]]] = {
    "env": lambda row: (row.env,),
    "difficulty": lambda row: (row.difficulty or UNRATED,),
    "tag": lambda row: row.tags or (UNTAGGED,),
    "task": lambda row: (f"{row.env}/{row.task}",),
    "split": lambda row: (row.split,),
    "runner": lambda row: (row.runner or "(never chosen)",),
}
"""What runs can be grouped by. A run with several tags is in several groups."""

_DIFFICULTIES = ("trivial", "very_easy", "easy", "medium", "hard", "very_hard")


def grouped(rows: Iterable[ResultRow], by: str) -> dict[str, list[ResultRow]]:
    """Return the rows of each group, groups in a sensible order: easy before hard, else by name."""
    found: dict[str, list[ResultRow]] = {}
    for row in rows:
        for name in GROUPINGS[by](row):
            found.setdefault(name, []).append(row)
    return {name: found[name] for name in sorted(found, key=_order)}


def _order(name: str) -> tuple[bool, int, str]:
    folded = name.lower().replace("-", "_").replace(" ", "_")
    rank = _DIFFICULTIES.index(folded) if folded in _DIFFICULTIES else len(_DIFFICULTIES)
    return name.startswith("("), rank, name


def _pass_at(k: int, by_task: Mapping[TaskKey, tuple[int, int]]) -> PassAtK | None:
    values = [value for p, runs in by_task.values() if (value := pass_at_k(p, runs, k)) is not None]
    return PassAtK(k, statistics.fmean(values), len(values)) if values else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
