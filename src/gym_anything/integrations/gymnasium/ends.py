"""How an episode that is over is told in Gymnasium's two words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything.episode.limits import COMPLETED


def terminated_truncated(done: bool, info: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return both flags of a step.

    An episode terminates when the agent says that it is done; limits and a lost world truncate it. Whether it is a
    sample at all is another matter: ``info["outcome"]`` is broken where its world or its judge failed it.
    """
    terminated = done and info.get("reason") == COMPLETED
    return terminated, done and not terminated
