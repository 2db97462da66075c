"""The bridge from the event loop to what blocks: one long-lived thread for one replica.

A world that is tied to the thread that made it lives as long as that thread. The loop never waits for one, and a
thread that hangs holds up nobody but its own replica.
"""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Told = Callable[[Any, "BaseException | None"], None]
"""Is given a result, or an error; in the event loop."""
_Work = tuple[Callable[[], Any], Told]


class ReplicaThread:
    """Does what it is given, one after another. Belongs to the event loop that it was made in."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Have it done; the future gets its result or exception. A future that is cancelled stops nothing."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._work.put((work, functools.partial(settle, future)))
        return future

    def do(self, work: Callable[[], Any], told: Told) -> None:
        """Have it done; ``told`` is called with what came of it, in the loop: one turn sooner than a future's own."""
        self._work.put((work, told))

    def end(self) -> None:
        """Have the thread end after what it was given; does not wait."""
        self._work.put(None)

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the thread; False when it goes on. Blocks: not for the event loop."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            work, told = item
            result, error = None, None
            try:
                result = work()
            except BaseException as caught:  # noqa: BLE001 - the boundary of a thread: whoever awaits gets it
                error = caught
            del item, work
            try:
                self._loop.call_soon_threadsafe(told, result, error)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more
            del told, result, error


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Give a future its result or error, unless nobody waits for it any more."""
    if future.done():
        return  # cancelled
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
