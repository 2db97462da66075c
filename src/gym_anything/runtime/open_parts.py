"""The connections of a world that comes up in one thread and may be ended by another at any moment."""

from __future__ import annotations

import threading
from typing import Protocol, TypeVar

from gym_anything.errors import Aborted


class OpenPart(Protocol):
    """A connection."""

    def abort(self) -> None:
        """End every blocked call; does not wait."""

    def close(self) -> None:
        """Close; idempotent."""


_Part = TypeVar("_Part", bound=OpenPart)


class OpenParts:
    """Whatever is opened is kept here and closed from here: none outlives ``end``, however late it was opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: list[OpenPart] = []
        self._ended = False

    def keep(self, part: _Part) -> _Part:
        """Return a part that ``close`` and ``end`` will close. Raises: Aborted after ``end``; then it is closed."""
        with self._lock:
            if not self._ended:
                self._parts.append(part)
                return part
        part.close()
        raise Aborted("start: ended by stop()")

    def abort(self) -> None:
        """End every blocked call. Any thread; does not wait."""
        with self._lock:
            parts = list(self._parts)
        for part in parts:
            part.abort()

    def close(self) -> None:
        """Close what is open; others may be opened later. Idempotent."""
        with self._lock:
            parts, self._parts = self._parts, []
        for part in reversed(parts):
            part.close()

    def end(self) -> None:
        """Close what is open and whatever comes later. Idempotent."""
        with self._lock:
            self._ended = True
        self.close()
