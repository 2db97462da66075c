"""An agent whose process loses its world when it is told to end: the two are ended together, the world is quicker."""

from __future__ import annotations

import signal

from gym_anything.errors import WorldLost
from tests.integration.benchmark import odd_agents


def _lose_the_world(*_: object) -> None:
    raise WorldLost("the guest closed the connection")


class Waits(odd_agents.WaitsForAFile):
    """Waits as its parent does."""


signal.signal(signal.SIGTERM, _lose_the_world)  # the main thread of an episode's process imports its agent
