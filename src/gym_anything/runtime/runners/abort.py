"""The abort signal: how a blocked runner call is told from another thread to end now."""

from __future__ import annotations

import threading

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted


class AbortSignal:
    """A one-way flag that any thread may raise and every waiting loop of a runner looks at.

    It never goes back: a world that was told to end is only good for ``stop()``.
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Raise the flag; every ``wait`` in any thread ends at once. Harmless when repeated."""
        self._event.set()

    def is_set(self) -> bool:
        """Tell whether the flag is up."""
        return self._event.is_set()

    def check(self, doing: str) -> None:
        """Raise ``Aborted`` that names what was being done, if the flag is up."""
        if self._event.is_set():
            raise Aborted(f"{doing}: ended by abort()")

    def wait(self, deadline: Deadline, doing: str) -> None:
        """Wait until ``deadline`` (the normal end of this call).

        Raises: Aborted as soon as the flag goes up.
        """
        if self._event.wait(deadline.remaining_or_none()):
            raise Aborted(f"{doing}: ended by abort()")
