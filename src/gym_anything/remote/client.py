"""``RemoteGymEnv`` where existing code imports it from."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import gym_anything.remote as remote

    return getattr(remote, name)
