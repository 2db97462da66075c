"""The line on which a world that comes up says how far it is: one JSON object a line."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from gym_anything._util.deadline import Deadline
from gym_anything.errors import BootTimedOut, WorldStartFailed


class ReportLine:
    """The reading end. Use it as a context manager."""

    def __init__(self, source: socket.socket, check_going_on: Callable[[], None], log_tail: Callable[[], str]) -> None:
        """Take ``source`` over. ``check_going_on`` raises when the wait was ended; ``log_tail`` is for diagnoses."""
        self._source = source
        self._woken, self._waker = socket.socketpair()
        self._check_going_on = check_going_on
        self._log_tail = log_tail
        self._buffer = b""
        self._waiting: list[dict[str, Any]] = []
        self._poller = select.poll()
        self._poller.register(source, select.POLLIN)
        self._poller.register(self._woken, select.POLLIN)

    def next(self, source: Literal["launcher", "session"], deadline: Deadline, awaited: str) -> dict[str, Any]:
        """Return the next report of one of the two that report: a session may be quicker than its launcher.

        Raises: BootTimedOut, WorldStartFailed when the other side is gone (both with the log tail), and what
            ``check_going_on`` raises.
        """
        while True:
            for number, report in enumerate(self._waiting):
                if ("stage" in report) == (source == "session"):
                    return self._waiting.pop(number)
            self._waiting.append(self._read(deadline, awaited))

    def _read(self, deadline: Deadline, awaited: str) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            left = deadline.remaining_or_none()
            events = dict(self._poller.poll(None if left is None else left * 1000))
            self._check_going_on()
            if self._source.fileno() not in events:
                raise BootTimedOut(f"timed out waiting for {awaited}; {self._tail()}", detail=self._detail())
            chunk = self._source.recv(65536)
            if not chunk:
                raise WorldStartFailed(f"{awaited} ended while it started; {self._tail()}", detail=self._detail())
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return dict(json.loads(line))

    def __enter__(self) -> ReportLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for end in (self._source, self._woken, self._waker):
            end.close()

    def wake(self) -> None:
        """Have a wait in another thread ask ``check_going_on`` now."""
        try:
            self._waker.send(b"1")
        except OSError:
            return  # closed: nobody waits any more

    def _tail(self) -> str:
        return f"log tail:\n{self._log_tail()}"

    def _detail(self) -> dict[str, str]:
        return {"log_tail": self._log_tail()}
