"""Who is told what happens in a pool: metrics, logs, traces, the stream of transitions. None changes anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from gym_anything.pool.guard import Verdict
from gym_anything.pool.replica_state import Transition


class PoolObserver:
    """Takes no notice. Called in the pool's event loop: an observer is quick, blocks never and raises nothing."""

    def transition(self, replica: int, one: Transition) -> None:
        """A replica went from one state to another."""

    def admission(self, replica: int, verdict: Verdict) -> None:
        """The guard has decided about one creation."""

    def memory(self, replica: int, memory_mib: float) -> None:
        """The world of a replica uses so much proportional memory."""

    def lent(self, lease: str, replica: int, waited_s: float) -> None:
        """A replica was given out, after so long a wait."""

    def returned(self, lease: str, reason: str) -> None:
        """A lease is over. Told once."""

    def operation(self, lease: str, replica: int, operation: str) -> AbstractContextManager[None]:
        """Stand around one operation of a task, with all its tries; an error passes through."""
        return nullcontext()

    def not_delivered(self, lease: str, operation: str) -> None:
        """A try of an operation was surely not applied; it may be tried again."""

    def tried_again(self, lease: str, operation: str, error: Exception) -> None:
        """A read that failed, with this error, is tried again now."""

    def close(self) -> None:
        """The pool has stopped: nothing more is told. Idempotent."""


class Observers(PoolObserver):
    """Several observers as one, told in this order."""

    def __init__(self, observers: Sequence[PoolObserver]) -> None:
        self._all = tuple(observers)

    def transition(self, replica: int, one: Transition) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.transition(replica, one)

    def admission(self, replica: int, verdict: Verdict) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.admission(replica, verdict)

    def memory(self, replica: int, memory_mib: float) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.memory(replica, memory_mib)

    def lent(self, lease: str, replica: int, waited_s: float) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.lent(lease, replica, waited_s)

    def returned(self, lease: str, reason: str) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.returned(lease, reason)

    @contextmanager
    def operation(self, lease: str, replica: int, operation: str) -> Iterator[None]:
        """See ``PoolObserver``."""
        with ExitStack() as stack:
            for observer in self._all:
                stack.enter_context(observer.operation(lease, replica, operation))
            yield

    def not_delivered(self, lease: str, operation: str) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.not_delivered(lease, operation)

    def tried_again(self, lease: str, operation: str, error: Exception) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.tried_again(lease, operation, error)

    def close(self) -> None:
        """See ``PoolObserver``."""
        for observer in self._all:
            observer.close()
