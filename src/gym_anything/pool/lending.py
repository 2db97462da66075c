"""What a data server needs of a pool: the pool itself, or somebody who borrows from one in another process."""

from __future__ import annotations

from typing import Any, Protocol

from gym_anything._util.deadline import Deadline


class Lent(Protocol):
    """A replica, lent to one task. ``Lease`` is one."""

    name: str

    @property
    def replica_number(self) -> int:
        """Which replica it is."""

    @property
    def lease_s(self) -> float:
        """How long its owner may show no sign of life."""

    async def perform(self, operation: str, argument: Any = None, deadline: Deadline | None = None) -> Any:
        """Do one operation of the task, at most once."""

    def beat(self) -> None:
        """Show a sign of life."""

    def release(self, *, broken: bool = False) -> None:
        """Give it back. Idempotent."""


class Lender(Protocol):
    """Gives out replicas. ``Pool`` is one."""

    def start(self) -> None:
        """Begin."""

    async def acquire_for(self, task: Any, deadline: Deadline, *, job: str = "") -> Lent:
        """Return a warm replica for a task, which names its environment where there are several, or wait for one."""

    def status(self) -> dict[str, Any]:
        """Return plain data of the pool."""

    async def stop(self) -> None:
        """End every lease."""
