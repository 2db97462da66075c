"""``gym-anything verify task`` for several tasks at once: most of an episode is waiting for a screen to be still."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gym_anything.actions.solution import SOLUTION
from gym_anything.episode.task_proof import NOTHING
from tests.e2e.command_line import CommandLine

AT_ONCE = 3


def prove_tasks(folder: Path, benchmark: Path, tasks: Iterable[tuple[str, str]], *options: str) -> dict[str, Any]:
    """Prove each (environment, task) of a benchmark in a process of its own; returns task -> report."""

    def prove(pair: tuple[str, str]) -> Any:
        env, task = pair
        place = folder / task
        place.mkdir()
        return CommandLine(place).json("verify", "task", env, task, "--benchmark", str(benchmark), *options, code=None)

    pairs = list(tasks)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {task: report for (_, task), report in zip(pairs, pool.map(prove, pairs), strict=True)}


def expected_points(task: Path) -> dict[str, float]:
    """Return what a task's README says that its near misses get: file name -> points."""
    readme = (task / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| near misses, points \| (.+) \|$", readme, re.MULTILINE)
    points = [float(said.rpartition(": ")[2]) for said in row.split("; ")]
    return dict(zip(sorted(file.name for file in task.glob("near_miss_*.json")), points, strict=True))


def check_points(report: Any, task: Path) -> None:
    """Doing nothing is worth nothing; near misses are worth what the task says."""
    scores = {row["attempt"]: row["score"] for row in report["attempts"]}
    assert scores == {NOTHING: 0, SOLUTION: 100, **expected_points(task)}


def check_proof(report: Any) -> None:
    """V3: doing nothing does not pass, nor do near misses; the oracle does; nothing is broken."""
    rows = {row["attempt"]: (row["status"], row["story"]) for row in report["attempts"]}
    assert len(rows) >= 4, "nothing, an oracle, two near misses"
    assert {attempt for attempt, (status, _) in rows.items() if status == "passed"} == {"oracle.json"}, rows
    assert not [row for row in rows.values() if row[0] == "broken"], rows
    assert report["ok"], rows
