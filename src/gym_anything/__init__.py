"""Gym-Anything: any software on any operating system as an environment for computer-use agents.

The front door for users. Nothing is imported before it is asked for, so ``import gym_anything`` stays cheap; inside
the package nobody imports from here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_anything.episode.env import GymAnythingEnv
    from gym_anything.episode.factory import from_config, make
    from gym_anything.episode.outcome import Outcome
    from gym_anything.episode.session_info import SessionInfo
    from gym_anything.errors import GymAnythingError
    from gym_anything.runtime.runners.facts import get_runner_compatibility, get_runner_compatibility_matrix
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec

    __version__: str

_HOMES = {
    "EnvSpec": "gym_anything.specs.env_spec",
    "GymAnythingEnv": "gym_anything.episode.env",
    "GymAnythingError": "gym_anything.errors",
    "Outcome": "gym_anything.episode.outcome",
    "RemoteGymEnv": "gym_anything.remote",
    "SessionInfo": "gym_anything.episode.session_info",
    "TaskSpec": "gym_anything.specs.task_spec",
    "from_config": "gym_anything.episode.factory",
    "get_runner_compatibility": "gym_anything.runtime.runners.facts",
    "get_runner_compatibility_matrix": "gym_anything.runtime.runners.facts",
    "make": "gym_anything.episode.factory",
}

__all__ = [
    "EnvSpec",
    "GymAnythingEnv",
    "GymAnythingError",
    "Outcome",
    "SessionInfo",
    "TaskSpec",
    "__version__",
    "from_config",
    "get_runner_compatibility",
    "get_runner_compatibility_matrix",
    "make",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("gym-anything")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOMES})
