"""Proving a task: doing nothing must not pass, its solution must, and its near misses must not; verdicts must repeat.

Beside a task may lie ``oracle.json`` (a solution) and ``near_miss_*.json`` (almost one).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gym_anything.actions.solution import NEAR_MISSES, SOLUTION, read_solution
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.proof_checks import ERROR, NOTE, WARNING, Finding, compared, judge_watched
from gym_anything.errors import GymAnythingError

NOTHING = "do nothing"
PASSED, FAILED = "passed", "failed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to play a task.

    Attributes:
        name: for people: ``do nothing`` or the file's name.
        steps: one list of actions for each call of ``env.step``.
        must_pass: what a sound task says to it.
    """

    name: str
    steps: list[list[dict[str, Any]]]
    must_pass: bool


@dataclass(frozen=True, slots=True)
class ProofRow:
    """What came of one attempt.

    Attributes:
        ok: the verdict was the expected one (a broken episode never is) and no finding is an error.
        expected: ``passed`` or ``failed``.
        status: ``passed``, ``failed`` or ``broken``.
        story: the judge's feedback, or why the episode broke.
        blame: who has to act when it broke.
        findings: what else was seen.
    """

    attempt: str
    ok: bool
    expected: str
    status: str
    score: float
    story: str
    blame: str | None
    episode_dir: str | None
    seconds: float
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TaskProof:
    """All attempts at one task.

    Attributes:
        findings: of the task itself and of every attempt.
    """

    env: str
    task: str
    rows: tuple[ProofRow, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Every verdict was the expected one and no finding is an error."""
        return all(row.ok for row in self.rows) and not any(f.level == ERROR for f in self.findings)

    @property
    def has_solution(self) -> bool:
        """Something showed that the task can be solved."""
        return any(row.expected == PASSED for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "ok": self.ok,
            "env": self.env,
            "task": self.task,
            "has_solution": self.has_solution,
            "attempts": [row.as_dict() for row in self.rows],
            "findings": [asdict(finding) for finding in self.findings],
        }


def prove_task(
    make_env: Callable[[], GymAnythingEnv],
    attempts: list[Attempt],
    *,
    env: str,
    task: str,
    seed: int | None = None,
    use_cache: bool = False,
    on_attempt: Callable[[str], object] = lambda _name: None,
) -> TaskProof:
    """Play every attempt in an episode of its own and gather what was found.

    Args: on_attempt: told each attempt's name before it is played.
    """
    rows = []
    for attempt in attempts:
        on_attempt(attempt.name)
        rows.append(prove(make_env, attempt, seed=seed, use_cache=use_cache))
    of_task = []
    if not any(attempt.must_pass for attempt in attempts):
        of_task.append(Finding("", "solution", WARNING, f"there is no {SOLUTION}: nothing shows that it can be solved"))
    if not any(not attempt.must_pass and attempt.steps for attempt in attempts):
        of_task.append(Finding("", "near miss", WARNING, f"there is no {NEAR_MISSES}: nothing shows that almost fails"))
    return TaskProof(env, task, tuple(rows), (*of_task, *(f for row in rows for f in row.findings)))


def find_attempts(task_root: Path) -> list[Attempt]:
    """Return what a task can be proved by: doing nothing always, then its solution and near misses.

    Raises: BenchmarkError for a file that is not a list of steps.
    """
    attempts = [Attempt(NOTHING, [], must_pass=False)]
    if (task_root / SOLUTION).is_file():
        attempts.append(Attempt(SOLUTION, read_solution(task_root / SOLUTION), must_pass=True))
    for file in sorted(task_root.glob(NEAR_MISSES)):
        attempts.append(Attempt(file.name, read_solution(file), must_pass=False))
    return attempts


def prove(
    make_env: Callable[[], GymAnythingEnv], attempt: Attempt, *, seed: int | None = None, use_cache: bool = False
) -> ProofRow:
    """Play an attempt in an episode of its own; a world that does not start is a broken row.

    Its final state is judged twice: the verdicts must agree, and judging must not touch anything.
    """
    began = time.monotonic()
    env: GymAnythingEnv | None = None
    expected = PASSED if attempt.must_pass else FAILED
    findings: list[Finding] = []
    try:
        with make_env() as env:
            outcome = _outcome(env, attempt, seed, use_cache, findings)
    except GymAnythingError as error:
        outcome = {"status": "broken", "score": 0.0, "story": str(error), "blame": error.blame}
    if outcome["status"] != expected:
        blame = f" ({outcome['blame']})" if outcome["blame"] else ""
        said = f"{attempt.name} {outcome['status']}{blame}, it must have {expected}"
        findings.insert(0, Finding(attempt.name, "verdict", ERROR, said))
    return ProofRow(
        attempt=attempt.name,
        ok=not any(finding.level == ERROR for finding in findings),
        expected=expected,
        status=outcome["status"],
        score=outcome["score"],
        story=outcome["story"],
        blame=outcome["blame"],
        episode_dir=str(env.episode_dir) if env is not None and env.episode_dir is not None else None,
        seconds=round(time.monotonic() - began, 3),
        findings=tuple(findings),
    )


def _outcome(
    env: GymAnythingEnv, attempt: Attempt, seed: int | None, use_cache: bool, findings: list[Finding]
) -> dict[str, Any]:
    env.reset(seed=seed, use_cache=use_cache, cache_level="default")
    done = False
    info: dict[str, Any] = {}
    for actions in attempt.steps:
        _, _, done, info = env.step(actions)
        if done:
            break
    if done:
        text = "the episode ended by its own limits, so its final state was judged only once"
        findings.append(Finding(attempt.name, "repeated", NOTE, text))
    else:
        first, touched = judge_watched(env, attempt.name)
        _, _, done, info = env.step([], mark_done=True)
        findings += touched
        findings += compared(first, info, attempt.name)
    outcome = info["outcome"]
    assert isinstance(outcome, dict)
    return outcome
