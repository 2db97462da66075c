"""What a pool and its replicas see of each other, whatever process either is in."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from gym_anything.pool.guard import Verdict
from gym_anything.pool.replica_events import EndLease
from gym_anything.pool.replica_state import State, Transition


class Admission(Protocol):
    """The guard, as a replica sees it."""

    def ask(self, replica: int, *, recovery: bool, answer: Callable[[Verdict], None]) -> None:
        """Decide about one creation: ``answer`` is told, at once or when its turn has come."""

    def done(self, replica: int) -> None:
        """Give back what was set aside, and its place among those who wait."""


class KnownState(Protocol):
    """What is known of where a replica stands; see ``ReplicaState``."""

    @property
    def state(self) -> State:
        """Where it stands."""

    @property
    def generation(self) -> int:
        """Counts its worlds."""

    @property
    def lease(self) -> str | None:
        """Of the task it is assigned to."""

    @property
    def story(self) -> deque[Transition]:
        """Its last transitions."""


class PooledReplica(Protocol):
    """A replica as its pool uses it, in this process or in another; see ``Replica``."""

    @property
    def number(self) -> int:
        """Tells it from others of its pool."""

    @property
    def state(self) -> KnownState:
        """Where it stands; read it only."""

    def want(self) -> None:
        """See ``Replica``."""

    def retire(self, reason: str) -> None:
        """See ``Replica``."""

    def assign(self, lease: str, task_limit_s: float | None = None) -> None:
        """See ``Replica``."""

    def heartbeat(self, lease: str) -> None:
        """See ``Replica``."""

    def release(self, lease: str, *, broken: bool = False) -> None:
        """See ``Replica``."""

    def as_sent(self, argument: Any) -> Any:
        """Return an argument in the form that ``perform`` takes. Raises: StateError for one it cannot be given."""

    def perform(self, lease: str, number: int, operation: str, argument: Any) -> Awaitable[Any]:
        """See ``Replica``."""

    def story(self) -> list[str]:
        """See ``Replica``."""

    async def stop(self) -> None:
        """See ``Replica``."""


class Watcher(Protocol):
    """Who wants to know of a replica: its pool."""

    def changed(self, replica: Any, before: State) -> None:
        """It went from one state to another."""

    def measured(self, replica: Any, memory_mib: float) -> None:
        """Its world uses so much memory."""

    def lease_ended(self, replica: Any, ended: EndLease) -> None:
        """A task lost its world; its owner has not given it back."""
