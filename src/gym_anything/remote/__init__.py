"""Environments on other hosts; the stack behind it is not part of this version."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "RemoteGymEnv":
        raise ImportError(
            "RemoteGymEnv needs the remote stack (worker, master, client), which this version of gym-anything does not "
            "have yet. Use gym_anything.from_config to run the environment on this machine.",
            name="gym_anything.remote.RemoteGymEnv",
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
