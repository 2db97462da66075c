"""From a verdict to a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym_anything.verification.contract import Verdict

if TYPE_CHECKING:
    from gym_anything.specs.task_spec import TaskSpec


def final_reward(task: TaskSpec | None, verdict: Verdict | None) -> float:
    """Return the reward of a finished episode; 0.0 when it could not be judged.

    Sparse: 1.0 or 0.0. Partial and rubric: the score, 0..100. Continuous: score / 100. Dense rewards come with each
    step (``shaping``); the end adds the sparse one.
    """
    if task is None or verdict is None or not verdict.decided:
        return 0.0
    rule = task.reward_rule
    if rule in ("partial", "rubric"):
        return verdict.score
    if rule == "continuous":
        return verdict.score / 100.0
    return 1.0 if verdict.passed else 0.0
