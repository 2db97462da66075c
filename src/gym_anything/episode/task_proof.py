"""Proving a task: doing nothing must not pass, its solution must, and its near misses must not.

Beside a task may lie ``oracle.json`` (a solution) and ``near_miss_*.json`` (almost one): JSON lists of steps, a step
being one action of the contract or a list of them for one ``env.step``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gym_anything.actions.parse import parse_actions
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import ActionError, BenchmarkError, GymAnythingError

NOTHING = "do nothing"
SOLUTION = "oracle.json"
NEAR_MISSES = "near_miss_*.json"


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
        ok: the verdict was the expected one; a broken episode never is.
        expected: ``passed`` or ``failed``.
        status: ``passed``, ``failed`` or ``broken``.
        story: the judge's feedback, or why the episode broke.
        blame: who has to act when it broke.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def find_attempts(task_root: Path) -> list[Attempt]:
    """Return what a task can be proved by: doing nothing always, then its solution and near misses.

    Raises: BenchmarkError for a file that is not a list of steps.
    """
    attempts = [Attempt(NOTHING, [], must_pass=False)]
    if (task_root / SOLUTION).is_file():
        attempts.append(Attempt(SOLUTION, read_steps(task_root / SOLUTION), must_pass=True))
    for file in sorted(task_root.glob(NEAR_MISSES)):
        attempts.append(Attempt(file.name, read_steps(file), must_pass=False))
    return attempts


def read_steps(file: Path) -> list[list[dict[str, Any]]]:
    """Return the steps of a solution file. Raises: BenchmarkError that names the file and the step."""
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"{file} cannot be read as JSON: {error}", detail={"file": str(file)}) from error
    if not isinstance(document, list):
        raise BenchmarkError(f"{file} must hold a list of steps, not {type(document).__name__}")
    steps = [step if isinstance(step, list) else [step] for step in document]
    for index, step in enumerate(steps):
        try:
            parse_actions(step, screen=None)
        except ActionError as error:
            raise BenchmarkError(f"{file}, step {index}: {error}", detail={"file": str(file)}) from error
    return steps


def prove(
    make_env: Callable[[], GymAnythingEnv], attempt: Attempt, *, seed: int | None = None, use_cache: bool = False
) -> ProofRow:
    """Play an attempt in an episode of its own; a world that does not start is a broken row."""
    began = time.monotonic()
    env: GymAnythingEnv | None = None
    expected = "passed" if attempt.must_pass else "failed"
    try:
        with make_env() as env:
            outcome = _outcome(env, attempt, seed, use_cache)
    except GymAnythingError as error:
        outcome = {"status": "broken", "score": 0.0, "story": str(error), "blame": error.blame}
    return ProofRow(
        attempt=attempt.name,
        ok=outcome["status"] == expected,
        expected=expected,
        status=outcome["status"],
        score=outcome["score"],
        story=outcome["story"],
        blame=outcome["blame"],
        episode_dir=str(env.episode_dir) if env is not None and env.episode_dir is not None else None,
        seconds=round(time.monotonic() - began, 3),
    )


def _outcome(env: GymAnythingEnv, attempt: Attempt, seed: int | None, use_cache: bool) -> dict[str, Any]:
    env.reset(seed=seed, use_cache=use_cache, cache_level="default")
    done = False
    info: dict[str, Any] = {}
    for actions in attempt.steps:
        _, _, done, info = env.step(actions)
        if done:
            break
    if not done:
        _, _, done, info = env.step([], mark_done=True)
    outcome = info["outcome"]
    assert isinstance(outcome, dict)
    return outcome
