"""Machines of one account come to life some at a time: all at once each would take twice as long, and be given up.

A machine that wakes needs a processor for a tenth of a second, emulated. A pool has a hundred do so when they are all
given a task; whoever probes them gives each some seconds.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, DeadlineExceeded
from gym_anything.runtime.qemu.cache import cache_root

AT_ONCE = max(2, os.cpu_count() or 1)
PATIENCE_S = 60.0
"""A courtesy, no right: who has waited so long goes on all the same, so nobody is held up by machines that hang."""
_LOOK_S, _POLL_S = 0.2, 0.01
_AWAITED = "a machine's turn to wake"


class Turns:
    """So many at a time, of this process and of all others that use the same folder. Any thread."""

    def __init__(self, folder: Callable[[], Path], at_once: int, patience_s: float) -> None:
        self._folder, self._at_once, self._patience_s = folder, at_once, patience_s
        self._free = threading.BoundedSemaphore(at_once)

    @contextmanager
    def mine(self, aborted: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn and have it for the block. Raises: Aborted when ``aborted`` says so while it waits."""
        patience = Deadline.after(self._patience_s)
        with contextlib.ExitStack() as stack:
            if self._in_process(patience, aborted):
                stack.callback(self._free.release)
                # Whose patience is over, or who cannot write where the turns are (a full disk), goes on without one.
                with contextlib.suppress(DeadlineExceeded, OSError):
                    stack.callback(self._on_host(patience, aborted).release)
            yield

    def _in_process(self, patience: Deadline, aborted: Callable[[], bool]) -> bool:
        had = self._free.acquire(blocking=False)
        while not had and not patience.expired():
            if aborted():
                raise Aborted(f"aborted while waiting for {_AWAITED}")
            had = self._free.acquire(timeout=min(_LOOK_S, patience.remaining()))
        return had

    def _on_host(self, patience: Deadline, aborted: Callable[[], bool]) -> FileLock:
        folder = self._folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

        def free() -> FileLock | None:
            tried = (FileLock.try_acquire(folder / f"turn-{number}") for number in range(self._at_once))
            return next((lock for lock in tried if lock is not None), None)

        lock = wait_until(free, deadline=patience, awaited=_AWAITED, poll_s=_POLL_S, aborted=aborted)
        assert lock is not None
        return lock


def _new() -> Turns:
    return Turns(lambda: cache_root() / "turns", AT_ONCE, PATIENCE_S)


_turns = _new()


def turns() -> Turns:
    """Return this process's; a forked child has its own, in which nobody is."""
    return _turns


def _after_fork_in_child() -> None:
    global _turns
    _turns = _new()


os.register_at_fork(after_in_child=_after_fork_in_child)
