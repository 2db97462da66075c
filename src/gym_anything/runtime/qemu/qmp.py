"""A connection to QEMU's monitor: the shell around ``QmpProtocol``, with deadlines and an end from any thread."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import Aborted, GymAnythingError, WorldError, WorldLost
from gym_anything.runtime.qemu.qmp_protocol import Ended, Event, QmpProtocol, Ready, Reply, Send

_RECEIVE_BYTES = 1 << 16
_EVENTS_KEPT = 256


class QmpClient:
    """One monitor. Any number of threads may use it; they take turns. ``abort`` from any thread ends what is blocked.

    There is no thread behind it: what QEMU says by itself is read when somebody next asks or waits.
    """

    def __init__(self, sock: socket.socket, explain: Callable[[], str] = lambda: "") -> None:
        """Take a connected socket over. Args: explain: the end of QEMU's own log, for the error of a dead machine."""
        self._socket = sock
        self._explain = explain
        self._protocol = QmpProtocol()
        self._turn = threading.Lock()
        self._aborted = threading.Event()
        self._events: deque[Event] = deque(maxlen=_EVENTS_KEPT)
        self._replies: dict[str, Reply] = {}

    def open(self, deadline: Deadline) -> tuple[int, int, int]:
        """Negotiate and return QEMU's version. Raises: WorldLost, BadWire, Aborted, DeadlineExceeded."""
        with self._turn:
            while not self._take(deadline, "QEMU's greeting"):
                pass
        return self.version

    @property
    def version(self) -> tuple[int, int, int]:
        """QEMU's version; zeros before ``open``."""
        return self._protocol.version

    def execute(
        self,
        command: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        deadline: Deadline,
        fds: Sequence[int] = (),
    ) -> Any:
        """Give one command and return its answer's value.

        Args: fds: descriptors that go along (for ``getfd`` and ``add-fd``); they stay the caller's.
        Raises: WorldError when QEMU refuses (``detail``: command, class, text); WorldLost when it has ended; BadWire;
            Aborted; DeadlineExceeded: then the command may still be done.
        """
        with self._turn:
            id, data = self._guarded(lambda: self._protocol.command(command, arguments))
            self._send(data, deadline, fds)
            try:
                while id not in self._replies:
                    self._take(deadline, f"QEMU's answer to {command!r}")
            except BaseException:
                self._protocol.abandon(id)
                raise
            reply = self._replies.pop(id)
        if reply.refused:
            raise WorldError(
                f"QEMU refused {command!r}: {reply.text}",
                detail={"command": command, "class": reply.error_class, "text": reply.text},
            )
        return reply.value

    def human(self, command_line: str, *, deadline: Deadline) -> str:
        """Give a command of the human monitor, for the little that has no other way, and return what it prints."""
        return str(self.execute("human-monitor-command", {"command-line": command_line}, deadline=deadline))

    def await_event(self, names: Collection[str], *, deadline: Deadline) -> Event:
        """Return the first event with one of these names that nobody was given before; others stay for others."""
        with self._turn:
            while True:
                for event in self._events:
                    if event.name in names:
                        self._events.remove(event)
                        return event
                self._take(deadline, f"QEMU's event {' or '.join(sorted(names))}")

    def abort(self) -> None:
        """End every blocked and every later call with ``Aborted``. Any thread; returns at once."""
        self._aborted.set()
        with contextlib.suppress(OSError):  # not connected any more
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close; idempotent. Whoever is blocked in a call is ended first."""
        self.abort()
        with self._turn:
            self._socket.close()

    def _take(self, deadline: Deadline, awaited: str) -> bool:
        """Read once and put everything where it belongs; True when the monitor has just become ready."""
        left = deadline.remaining_or_none()
        if left is not None and left <= 0:
            raise expired_error(awaited, last_status=f"the monitor is {self._protocol.state.value}")
        try:
            self._socket.settimeout(left)
            data = self._socket.recv(_RECEIVE_BYTES)
        except TimeoutError:
            return False
        except OSError as error:
            raise self._over(WorldLost(f"QEMU's monitor broke: {error}")) from error
        ready = False
        for happening in self._protocol.feed(data):
            if isinstance(happening, Send):
                self._send(happening.data, deadline)
            elif isinstance(happening, Reply):
                self._replies[happening.id] = happening
            elif isinstance(happening, Event):
                self._events.append(happening)
            elif isinstance(happening, Ended):
                raise self._over(happening.reason)
            else:
                ready = isinstance(happening, Ready)
        return ready

    def _send(self, data: bytes, deadline: Deadline, fds: Sequence[int] = ()) -> None:
        try:
            left = deadline.remaining_or_none()
            self._socket.settimeout(None if left is None else max(left, 0.001))
            sent = socket.send_fds(self._socket, [data], list(fds)) if fds else self._socket.send(data)
            if sent < len(data):
                self._socket.sendall(data[sent:])
        except TimeoutError as error:
            raise self._over(expired_error("QEMU to take a command")) from error  # half a command is no command
        except OSError as error:
            raise self._over(WorldLost(f"QEMU's monitor broke: {error}")) from error

    def _guarded(self, make: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
        if self._aborted.is_set():
            raise self._over(Aborted(""))
        try:
            return make()
        except GymAnythingError as error:
            raise self._over(error) from error

    def _over(self, reason: GymAnythingError) -> GymAnythingError:
        """Return the error for a call on a conversation that is over: our own abort, or the root cause with its log."""
        if self._aborted.is_set():
            return Aborted("QEMU's monitor: ended by abort()")
        root = self._protocol.fail(reason)
        tail = self._explain() if isinstance(root, WorldLost) else ""
        if not tail:
            return root
        return WorldLost(f"{root}; the end of its log:\n{tail}", detail={**root.detail, "log_tail": tail})
