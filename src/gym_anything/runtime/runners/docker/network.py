"""The one network of all worlds with ``resources.net``: to the outside, never to each other."""

from __future__ import annotations

from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.state_dir import state_root
from gym_anything.errors import HostError
from gym_anything.runtime.runners.docker.vendor import Engine

NAME = "gym-anything"
LABEL = "gym-anything.shared"
_WALL = "com.docker.network.bridge.enable_icc"
_LOCK_S = 60.0


def ensure_network(engine: Engine) -> str:
    """Return the name of the shared network, made when it is missing; one maker at a time on this host.

    It stays: thousands of short-lived networks would use up the engine's address pools.
    Raises: HostError when a network of that name lets worlds talk to each other.
    """
    lock = FileLock.acquire(state_root() / "docker-network.lock", deadline=Deadline.after(_LOCK_S))
    try:
        found = engine.networks(NAME)
        if not found:
            engine.create_network(NAME, {_WALL: "false"}, {LABEL: "1"})
            found = engine.networks(NAME)
        _check(found)
    finally:
        lock.release()
    return NAME


def _check(found: list[dict[str, Any]]) -> None:
    if len(found) != 1 or (found[0].get("Options") or {}).get(_WALL) != "false":
        fix = f"docker network rm {NAME}"
        raise HostError(
            f"the Docker network {NAME!r} is not the one that keeps worlds apart; remove it: {fix}",
            detail={"fix": fix},
        )
