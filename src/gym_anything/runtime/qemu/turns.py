"""Machines of one process come to life some at a time: all at once each would only take longer, and be given up.

A machine that wakes needs a processor or two for a tenth of a second, emulated. A pool has a hundred do so when they
are all given a task; whoever probes them gives each some seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gym_anything.errors import Aborted

AT_ONCE = 2
PATIENCE_S = 60.0
"""A courtesy, no right: who has waited so long goes on all the same, so nobody is held up by machines that hang."""
_LOOK_S = 0.2


class Turns:
    """So many at a time. Any thread."""

    def __init__(self, at_once: int, patience_s: float) -> None:
        self._free = threading.BoundedSemaphore(at_once)
        self._patience_s = patience_s

    @contextmanager
    def mine(self, aborted: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn and have it for the block. Raises: Aborted when ``aborted`` says so while it waits."""
        ends = time.monotonic() + self._patience_s
        had = self._free.acquire(blocking=False)
        while not had and (left := ends - time.monotonic()) > 0:
            if aborted():
                raise Aborted("aborted while other machines were waking")
            had = self._free.acquire(timeout=min(_LOOK_S, left))
        try:
            yield
        finally:
            if had:
                self._free.release()


_turns = Turns(AT_ONCE, PATIENCE_S)


def turns() -> Turns:
    """Return this process's; a forked child has its own, in which nobody is."""
    return _turns


def _after_fork_in_child() -> None:
    global _turns
    _turns = Turns(AT_ONCE, PATIENCE_S)


os.register_at_fork(after_in_child=_after_fork_in_child)
