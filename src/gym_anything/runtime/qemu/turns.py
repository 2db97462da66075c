"""Machines of one account come to life some at a time: all at once each would take twice as long, and be given up.

A machine that wakes needs a processor for a tenth of a second, emulated. A pool has a hundred do so when they are all
given a task; whoever probes them gives each some seconds.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.locks import FileLock
from gym_anything.errors import Aborted
from gym_anything.runtime.qemu.cache import cache_root

AT_ONCE = max(2, os.cpu_count() or 1)
PATIENCE_S = 60.0
"""A courtesy, no right: who has waited so long goes on all the same, so nobody is held up by machines that hang."""
_LOOK_S, _POLL_S = 0.2, 0.01


class Turns:
    """So many at a time, of this process and of all others that use the same folder. Any thread."""

    def __init__(self, folder: Callable[[], Path], at_once: int, patience_s: float) -> None:
        self._folder, self._at_once, self._patience_s = folder, at_once, patience_s
        self._free = threading.BoundedSemaphore(at_once)

    @contextmanager
    def mine(self, aborted: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn and have it for the block. Raises: Aborted when ``aborted`` says so while it waits."""
        ends = time.monotonic() + self._patience_s
        with contextlib.ExitStack() as stack:
            if self._in_process(ends, aborted):
                stack.callback(self._free.release)
                lock = self._on_host(ends, aborted)
                if lock is not None:
                    stack.callback(lock.release)
            yield

    def _in_process(self, ends: float, aborted: Callable[[], bool]) -> bool:
        had = self._free.acquire(blocking=False)
        while not had and (left := _left(ends, aborted)) > 0:
            had = self._free.acquire(timeout=min(_LOOK_S, left))
        return had

    def _on_host(self, ends: float, aborted: Callable[[], bool]) -> FileLock | None:
        folder = self._folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        pause = threading.Event()
        while True:
            for number in range(self._at_once):
                lock = FileLock.try_acquire(folder / f"turn-{number}")
                if lock is not None:
                    return lock
            if _left(ends, aborted) <= 0:
                return None
            pause.wait(_POLL_S)


def _left(ends: float, aborted: Callable[[], bool]) -> float:
    if aborted():
        raise Aborted("aborted while other machines were waking")
    return ends - time.monotonic()


_turns = Turns(lambda: cache_root() / "turns", AT_ONCE, PATIENCE_S)


def turns() -> Turns:
    """Return this process's; a forked child has its own, in which nobody is."""
    return _turns


def _after_fork_in_child() -> None:
    global _turns
    _turns = Turns(lambda: cache_root() / "turns", AT_ONCE, PATIENCE_S)


os.register_at_fork(after_in_child=_after_fork_in_child)
