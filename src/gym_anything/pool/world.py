"""What a pool needs of a world. What blocks is called in the replica's own thread only, but for ``probe``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Vitals:
    """What a world says of itself when it is asked for a sign of life.

    Attributes:
        memory_mib: its proportional memory; None where it was not measured.
    """

    memory_mib: float | None = None


class ReplicaWorld(Protocol):
    """One world, from nothing to nothing; a new object for each generation of a replica.

    An exception out of any method says that it failed; ``WorldLost`` that the world is gone.
    """

    def create(self) -> None:
        """Bring it up until it can be given a task."""

    def recycle(self) -> None:
        """Bring it back to how it was after ``create``."""

    def probe(self, deep: bool) -> Vitals:
        """Give a sign of life, cheaply; ``deep``: from inside. Called in a thread of its own, beside other methods."""

    def perform(self, operation: str, argument: Any) -> Any:
        """Do what a task wants: ``reset``, ``step``, ``evaluate`` and what else its kind of world knows."""

    def abort(self) -> None:
        """End what blocks in any other method, within a second. Any thread; does not wait; harmless when repeated."""

    def destroy(self) -> None:
        """Remove all of it, whatever state it is in. Idempotent."""
