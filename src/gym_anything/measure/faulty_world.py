"""Real environments as a pool's worlds, which note what is done in them, and sometimes fail by themselves."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gym_anything.measure.journal import Journal
from gym_anything.pool.environment_world import EnvironmentChoice, EnvironmentWorld

_CRASH = "echo c > /proc/sysrq-trigger"
"""The guest's kernel ends there; its machine is none the wiser."""
HOG = "python3 -c 'x = [b\"x\" * (1 << 24) for _ in range(200)]' || true"
"""Takes 3.2 GB, if nobody stops it."""


def faulty_worlds(
    choice: Mapping[str, Any], journal: str, chances: Mapping[str, float], seed: int
) -> Callable[[], Any]:
    """Return what makes worlds; see ``WorldSource``.

    Args: chances: of ``lost_answer``, ``out_of_memory`` and ``crashed_guest``, for each step.
    """
    book, chosen, chance = Journal(Path(journal)), EnvironmentChoice.from_dict(choice), random.Random(seed)
    return lambda: FaultyWorld(chosen, book, chances, random.Random(chance.random()))


class FaultyWorld(EnvironmentWorld):
    """See ``EnvironmentWorld``."""

    def __init__(
        self, choice: EnvironmentChoice, journal: Journal, chances: Mapping[str, float], chance: random.Random
    ) -> None:
        super().__init__(choice)
        self._journal, self._chances, self._chance = journal, chances, chance

    def create(self) -> None:
        """See ``ReplicaWorld``."""
        super().create()
        self._journal.write("up", world=self._name())

    def perform(self, operation: str, argument: Any) -> Any:
        """See ``EnvironmentWorld``; each input is noted before it is done."""
        if operation != "step":
            return super().perform(operation, argument)
        world, token = self._name(), argument["keyboard"]["text"].strip()
        self._journal.write("step", world=world, token=token)
        if self._happens("out_of_memory"):
            self._journal.write("fault", kind="out_of_memory", world=world)
            self._running().runner.exec(HOG, use_pty=False, timeout=20)
        if self._happens("crashed_guest"):
            self._journal.write("fault", kind="crashed_guest", world=world)
            self._running().runner.exec(_CRASH, use_pty=False, timeout=1)
        value = super().perform(operation, argument)
        if self._happens("lost_answer"):
            self._journal.write("fault", kind="lost_answer", world=world)
            raise ConnectionResetError("the answer was lost, after the input had been applied")
        return value

    def _happens(self, kind: str) -> bool:
        return self._chance.random() < self._chances.get(kind, 0.0)

    def _name(self) -> str:
        return str(self._running().runner.get_runtime_info().instance_name)
