"""Two sets of results on the same tasks: what changed, and whether it is more than chance. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gym_anything.benchmark.result_row import ResultRow
from gym_anything.benchmark.significance import fisher_p, holm, paired_p
from gym_anything.benchmark.tally import GROUPINGS, TaskKey, grouped, passes_by_task, task_key

ALL = "all"


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task on both sides.

    Attributes:
        task: benchmark, environment, task.
        first, second: (passed, runs) that say something.
        p: Fisher's exact probability on these runs. p_adjusted: after Holm, for all tasks compared.
    """

    task: TaskKey
    first: tuple[int, int]
    second: tuple[int, int]
    p: float
    p_adjusted: float

    @property
    def difference(self) -> Fraction:
        """Second rate minus first rate."""
        return Fraction(*self.second) - Fraction(*self.first)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        benchmark, env, task = self.task
        sides = {side: {"passed": p, "runs": n} for side, (p, n) in (("first", self.first), ("second", self.second))}
        ps = {"p": round(self.p, 6), "p_adjusted": round(self.p_adjusted, 6)}
        return {"benchmark": benchmark, "env": env, "task": task, **sides, **ps, "difference": float(self.difference)}


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One group of tasks on both sides; each task counts once, however many runs it has.

    Attributes:
        by, name: what the group is, such as ``difficulty`` and ``hard``; ``all`` for everything.
        tasks, better, worse: compared; those whose rate went up, and down.
        first, second: means of the tasks' pass rates.
        p: two-sided. test: the name of the test.
    """

    by: str
    name: str
    tasks: int
    better: int
    worse: int
    first: float
    second: float
    p: float
    test: str

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "by": self.by,
            "name": self.name,
            "tasks": self.tasks,
            "better": self.better,
            "worse": self.worse,
            "first": round(self.first, 6),
            "second": round(self.second, 6),
            "difference": round(self.second - self.first, 6),
            "p": round(self.p, 6),
            "test": self.test,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from the first set of results to the second.

    Attributes:
        groups: everything first, then group by group. tasks: one by one.
        only_first, only_second: tasks without a result that says something on the other side; not compared.
        changed: tasks whose content is not the same on both sides (or within one); not compared.
    """

    groups: tuple[GroupChange, ...]
    tasks: tuple[TaskChange, ...]
    only_first: tuple[TaskKey, ...]
    only_second: tuple[TaskKey, ...]
    changed: tuple[TaskKey, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "groups": [each.as_dict() for each in self.groups],
            "tasks": [each.as_dict() for each in self.tasks],
            "only_first": ["/".join(key) for key in self.only_first],
            "only_second": ["/".join(key) for key in self.only_second],
            "changed": ["/".join(key) for key in self.changed],
        }


def compare(first: Sequence[ResultRow], second: Sequence[ResultRow], by: Iterable[str] = ()) -> Comparison:
    """Compare two sets of rows task by task.

    Args: by: names of ``GROUPINGS``; a task is in the groups that its rows on the first side are in.
    """
    sides = [row for row in first if row.says_something], [row for row in second if row.says_something]
    counts = passes_by_task(sides[0]), passes_by_task(sides[1])
    changed = _changed([*sides[0], *sides[1]])
    both = [key for key in counts[0] if key in counts[1] and key not in changed]
    changes = _task_changes(both, counts)
    by_key = {change.task: change for change in changes}
    groups = [_group(ALL, ALL, changes)] if changes else []
    for grouping in by:
        if grouping not in GROUPINGS:
            raise ValueError(f"results are not grouped by {grouping!r}")
        for name, rows in grouped(sides[0], grouping).items():
            members = [by_key[key] for key in dict.fromkeys(map(task_key, rows)) if key in by_key]
            if members:
                groups.append(_group(grouping, name, members))
    return Comparison(
        tuple(groups),
        tuple(changes),
        tuple(key for key in counts[0] if key not in counts[1]),
        tuple(key for key in counts[1] if key not in counts[0]),
        tuple(key for key in counts[0] if key in counts[1] and key in changed),
    )


def _task_changes(
    keys: Sequence[TaskKey], counts: tuple[Mapping[TaskKey, tuple[int, int]], Mapping[TaskKey, tuple[int, int]]]
) -> list[TaskChange]:
    pairs = [(counts[0][key], counts[1][key]) for key in keys]
    found = [fisher_p((p, n - p), (q, m - q)) for (p, n), (q, m) in pairs]
    together = zip(keys, pairs, found, holm(found), strict=True)
    return [TaskChange(key, one, two, p, adjusted) for key, (one, two), p, adjusted in together]


def _group(by: str, name: str, changes: Sequence[TaskChange]) -> GroupChange:
    differences = [change.difference for change in changes]
    p, test = paired_p(differences)
    return GroupChange(
        by,
        name,
        len(changes),
        sum(difference > 0 for difference in differences),
        sum(difference < 0 for difference in differences),
        statistics.fmean(passed / runs for passed, runs in (change.first for change in changes)),
        statistics.fmean(passed / runs for passed, runs in (change.second for change in changes)),
        p,
        test,
    )


def _changed(rows: Iterable[ResultRow]) -> set[TaskKey]:
    """Return the tasks that were played with different contents; a run that does not know its content fits any."""
    digests: dict[TaskKey, set[str]] = {}
    for row in rows:
        if row.task_digest is not None:
            digests.setdefault(task_key(row), set()).add(row.task_digest)
    return {key for key, found in digests.items() if len(found) > 1}
