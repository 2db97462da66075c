"""Dense rewards: a function of the task's own, asked after every step."""

from __future__ import annotations

from collections.abc import Mapping

from gym_anything.episode.episode import Episode
from gym_anything.episode.judging import build_request
from gym_anything.episode.session import Session
from gym_anything.episode.world_capabilities import WorldCapabilities
from gym_anything.verification.program import reward_by_program


def step_reward(session: Session, episode: Episode) -> float:
    """Return the shaped reward of a step of a dense task, else 0.0. Raises: as a verifier does."""
    task = session.task_spec
    if task is None or task.reward_rule != "dense":
        return 0.0
    shaping = task.init.reward_shaping
    reference = shaping.get("program") if isinstance(shaping, Mapping) else shaping
    request = build_request(session, episode, None)
    return reward_by_program(request, reference, WorldCapabilities(session.runner))
