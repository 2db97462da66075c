"""What an agent is told about its episode before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything.benchmark.episode_request import EpisodeRequest


def agent_context(request: EpisodeRequest, env: Any, *, wants_task_root: bool) -> dict[str, Any]:
    """Return what ``on_episode_start`` is given; the task's folder only for an agent that asks for it."""
    context = {
        "env_id": env.env_spec.id,
        "task_id": request.task,
        "seed": request.seed,
        "attempt": request.attempt,
        "episode_dir": str(env.episode_dir) if env.episode_dir is not None else None,
        "max_steps": env.max_steps,
        "timeout_sec": env.timeout_sec,
    }
    if wants_task_root:
        context["env_root"] = str(env.env_root) if env.env_root is not None else None
        context["task_root"] = str(env.task_root) if env.task_root is not None else None
    return context


def display_resolution(env: Any, obs: Mapping[str, Any]) -> tuple[int, int]:
    """Return (width, height) of the screen in guest pixels; (0, 0) for a world without a screen."""
    size = env.runner.screen_size()
    if size is None:
        screen = obs.get("screen")
        size = screen.get("resolution") if isinstance(screen, Mapping) else None
    return (int(size[0]), int(size[1])) if size else (0, 0)
