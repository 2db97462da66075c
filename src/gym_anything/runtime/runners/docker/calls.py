"""Calls of the engine that may hang, made so that whoever waits for one can be told to stop waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted

T = TypeVar("T")


class EngineCalls:
    """Makes calls in threads of their own. A call that was left alone goes on; ``finish`` waits for those."""

    def __init__(self, ended: threading.Event) -> None:
        """Args: ended: set when the world was told to end; every wait then raises ``Aborted``."""
        self._ended = ended
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def make(self, act: Callable[[], T], *, doing: str, deadline: Deadline) -> T:
        """Return ``act()``. Raises: what it raises; Aborted; DeadlineExceeded."""
        answers: list[T] = []
        errors: list[BaseException] = []
        done = threading.Event()

        def run() -> None:
            try:
                answers.append(act())
            except BaseException as error:  # noqa: BLE001 - the boundary of the thread: raised again by its caller
                errors.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=run, name=f"docker {doing}", daemon=True)
        with self._lock:
            if self._ended.is_set():
                raise Aborted(f"docker: {doing}: ended by abort() or stop()")
            thread.start()
            self._threads.append(thread)
        wait_until(
            done.is_set, deadline=deadline, awaited=f"docker: {doing}", aborted=self._ended.is_set, sleep=done.wait
        )
        thread.join()
        with self._lock:
            self._threads.remove(thread)
        if errors:
            raise errors.pop()
        return answers[0]

    def finish(self, deadline: Deadline) -> bool:
        """Wait until every call that was left alone has ended, and tell whether that is so.

        Once ``ended`` is set no new one begins.
        """
        with self._lock:
            left = list(self._threads)
        for thread in left:
            thread.join(deadline.remaining_or_none())
        return not any(thread.is_alive() for thread in left)

    def after_all(self, act: Callable[[], object]) -> None:
        """Do ``act`` once every call that was left alone has ended, however long that takes; returns at once."""

        def late() -> None:
            self.finish(Deadline.never())
            act()

        threading.Thread(target=late, name="docker late removal", daemon=True).start()
