"""The stream of a pool's last transitions: bounded, numbered, each with its reason. Any thread may read it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.replica_state import State, Transition

KEPT = 1024


@dataclass(frozen=True, slots=True)
class StreamedTransition:
    """One transition of one replica.

    Attributes:
        number: counts all transitions of the pool from 1. at: seconds since 1970.
    """

    number: int
    at: float
    replica: int
    before: str
    after: str
    reason: str
    generation: int
    lease: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        return {name: getattr(self, name) for name in self.__slots__}


class TransitionStream(PoolObserver):
    """Keeps the last transitions, and what was last said of each replica that is not retired."""

    def __init__(self, keep: int = KEPT, wall_clock: Callable[[], float] = time.time) -> None:
        """Args: keep: how many are kept; who reads too seldom sees a gap in the numbers."""
        self._kept: deque[StreamedTransition] = deque(maxlen=keep)
        self._last: dict[int, StreamedTransition] = {}
        self._memory_mib: dict[int, float] = {}
        self._wall_clock = wall_clock
        self._lock = threading.Lock()
        self._number = 0

    def transition(self, replica: int, one: Transition) -> None:
        """See ``PoolObserver``."""
        with self._lock:
            self._number += 1
            before, after = one.before.value, one.after.value
            words = (replica, before, after, one.reason, one.generation, one.lease)
            streamed = StreamedTransition(self._number, self._wall_clock(), *words)
            self._kept.append(streamed)
            self._last[replica] = streamed
            if one.after in (State.CLEARING, State.RETIRED):
                self._memory_mib.pop(replica, None)
            if one.after is State.RETIRED:
                del self._last[replica]

    def memory(self, replica: int, memory_mib: float) -> None:
        """See ``PoolObserver``."""
        with self._lock:
            if replica in self._last:
                self._memory_mib[replica] = memory_mib

    @property
    def newest(self) -> int:
        """Number of the newest transition; 0 before the first."""
        return self._number

    def since(self, number: int) -> list[StreamedTransition]:
        """Return what is kept of the transitions after this number, oldest first."""
        with self._lock:
            return [one for one in self._kept if one.number > number]

    def last_of(self, replica: int) -> StreamedTransition | None:
        """Return the newest transition of a replica; None: it had none, or is retired."""
        with self._lock:
            return self._last.get(replica)

    def memory_mib_of(self, replica: int) -> float | None:
        """Return the memory of a replica's world as it was last measured; None: it was not."""
        with self._lock:
            return self._memory_mib.get(replica)
