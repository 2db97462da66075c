"""One request to the guest and all that belongs to it, pumped by the calling thread until it has ended."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Iterator
from typing import Any

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import (
    Aborted,
    DeadlineExceeded,
    GuestCommandFailed,
    GuestFileNotFound,
    GymAnythingError,
    WorldLost,
)
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.connection import Call, Connection

Source = Iterator[bytes | None]
Sink = Callable[[int, bytes], object]

# How long after the deadline the guest's own report of it is awaited. The guest kills what it started at the deadline
# itself, which takes it milliseconds, or three seconds when something will not die.
ANSWER_GRACE_S = 4.0
_ENDINGS = frozenset({"DONE", "EXITED", "FAILED", "PONG", "PROCESS"})
# What asks for something that must be there.
_READING = frozenset({"GET", "STAT", "REMOVE", "TAR_GET"})
_CREDIT_STEP = wire.CONSTANTS["OUTPUT_WINDOW"] // 4
_WAKE = wire.Message("WAKE", {})
_ERROR_NAMES = {code: name for name, code in wire.ERRORS.items()}


def deadline_ms(deadline: Deadline) -> int:
    """Convert to what the guest is told: milliseconds from now, at least 1; 0 means none."""
    left = deadline.remaining_or_none()
    return 0 if left is None else max(1, math.ceil(left * 1000))


def failure_of(message: wire.Message, what: str, *, reading: bool = False) -> GymAnythingError:
    """Build the error for the guest's FAILED. ``reading``: a file that is missing is the caller's question answered."""
    name = _ERROR_NAMES.get(message["error"], "ERROR_UNKNOWN")
    os_error = message["os_error"]
    text = f"{what}: {message['message'].decode(errors='replace')}"
    detail = {"error": name, "errno": errno.errorcode.get(os_error, os_error) if os_error else None}
    if reading and name == "ERROR_FILE" and os_error in (errno.ENOENT, errno.ENOTDIR):
        return GuestFileNotFound(text, detail=detail)
    if name == "ERROR_DEADLINE":
        return DeadlineExceeded(text, detail=detail)
    if name == "ERROR_SHUTTING_DOWN":
        return WorldLost(text, detail=detail)
    if name == "ERROR_CANCELLED":
        return Aborted(text, detail=detail)
    return GuestCommandFailed(text, detail=detail)


class Exchange:
    """A channel from its request to its end. Created by one thread and pumped by one; ``cancel`` from any."""

    def __init__(self, connection: Connection, what: str, deadline: Deadline) -> None:
        deadline.check(what)
        self._connection = connection
        self._what = what
        self._deadline = deadline
        self._window = wire.CONSTANTS["STDIN_WINDOW"]
        self._consumed = 0
        self._call: Call = connection.open_call()
        self._reading = False
        self.pid: int | None = None

    def request(self, name: str, **fields: Any) -> None:
        """Send the message that opens the channel."""
        self._reading = name in _READING
        try:
            self._call.send(name, deadline=self._deadline, **fields)
        except wire.FrameTooLarge as error:
            self._connection.close_call(self._call)
            raise GuestCommandFailed(f"{self._what}: {error}") from error
        except BaseException:  # also Ctrl-C: the channel's number must not stay taken
            self._connection.close_call(self._call)
            raise

    def send(self, name: str, **fields: Any) -> None:
        """Send a message to the running request (SIGNAL, RESIZE, CANCEL). Any thread."""
        self._call.send(name, deadline=Deadline.after(ANSWER_GRACE_S), **fields)

    def wake(self) -> None:
        """Make ``finish`` look at its source again. Any thread."""
        self._call.deliver(_WAKE)

    def finish(self, *, source: Source | None = None, sink: Sink | None = None) -> wire.Message:
        """Feed ``source``, pass output to ``sink(stream, chunk)``, and return the message that ended the channel.

        Args:
            source: pieces of input; None means "nothing now", and ``wake`` says when to ask again.
        Raises: what FAILED stands for; WorldLost when the world or its answer is gone; Aborted.
        """
        try:
            message = self._pump(source, sink)
        except BaseException:  # also Ctrl-C and errors of the sink: the guest must not go on with it
            self._give_up()
            raise
        finally:
            self._connection.close_call(self._call)
        if message.name == "FAILED":
            raise failure_of(message, self._what, reading=self._reading)
        return message

    def _give_up(self) -> None:
        if self._connection.ended:
            return
        try:
            self._call.send("CANCEL", deadline=Deadline.after(0.5))
        except GymAnythingError:
            pass  # the connection ended meanwhile, which cancels as well

    def _pump(self, source: Source | None, sink: Sink | None) -> wire.Message:
        pending: bytes | None = b""
        while True:
            if source is not None and not pending:
                pending = next(source, b"")
                if pending == b"":
                    self._call.send("STDIN_END", deadline=self._deadline)
                    source = None
            if pending and self._window > 0:
                pending = self._send_part(pending)
                message = self._call.next_message(0)
            else:
                message = self._wait()
            if message is not None and self._take(message, sink):
                return message

    def _send_part(self, pending: bytes) -> bytes:
        part = pending[: min(self._window, wire.CONSTANTS["MAX_CHUNK"])]
        self._call.send("STDIN", deadline=self._deadline, data=part)
        self._window -= len(part)
        return pending[len(part) :]

    def _wait(self) -> wire.Message:
        left = self._deadline.remaining_or_none()
        message = self._call.next_message(None if left is None else left + ANSWER_GRACE_S)
        if message is None:
            raise WorldLost(
                f"{self._what}: no report from the guest {ANSWER_GRACE_S:.0f} s after the deadline; it hangs or is gone"
            ) from expired_error(self._what)
        return message

    def _take(self, message: wire.Message, sink: Sink | None) -> bool:
        """Handle one message; True when it ended the channel."""
        if message.name == "OUTPUT":
            if sink is not None:
                sink(message["stream"], message["data"])
            self._consumed += len(message["data"])
            if self._consumed >= _CREDIT_STEP:
                self._call.send("CREDIT", deadline=Deadline.after(ANSWER_GRACE_S), bytes=self._consumed)
                self._consumed = 0
        elif message.name == "CREDIT":
            self._window += message["bytes"]
        elif message.name == "STARTED":
            self.pid = message["pid"]
        return message.name in _ENDINGS
