"""How a benchmark run is told to stop: once to finish cleanly, twice to stop now."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum


class StopLevel(IntEnum):
    """How urgently a run is to stop; it only ever rises."""

    RUN = 0
    FINISH = 1
    """Begin nothing new; what runs may end."""
    NOW = 2
    """End what runs."""


class StopSignal:
    """The level of one run. Thread safe; not for signal handlers, which may interrupt the holder of any lock."""

    def __init__(self) -> None:
        self._level = StopLevel.RUN
        self._callbacks: dict[int, tuple[StopLevel, Callable[[], None]]] = {}
        self._lock = threading.Lock()
        self._next_key = 0

    @property
    def level(self) -> StopLevel:
        """The present level."""
        return self._level

    @property
    def finishing(self) -> bool:
        """Nothing new is to begin."""
        return self._level >= StopLevel.FINISH

    @property
    def stopping_now(self) -> bool:
        """What runs is to end."""
        return self._level >= StopLevel.NOW

    def raise_level(self) -> None:
        """Go one level up and call what waits for that level."""
        with self._lock:
            self._level = StopLevel(min(self._level + 1, StopLevel.NOW))
            due = [key for key, (level, _) in self._callbacks.items() if level <= self._level]
            callbacks = [self._callbacks.pop(key)[1] for key in due]
        for callback in callbacks:
            callback()

    def at(self, level: StopLevel, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called once when ``level`` is reached, at once when it has been.

        Returns: a function that takes it back.
        """
        with self._lock:
            if self._level < level:
                key = self._next_key
                self._next_key += 1
                self._callbacks[key] = (level, callback)
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
