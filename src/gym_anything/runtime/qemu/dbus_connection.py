"""One D-Bus connection to QEMU without a bus between: messages whole, one reader, any number of writers."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import BadWire, WorldLost
from gym_anything.runtime.qemu import dbus_wire
from gym_anything.runtime.qemu.dbus_wire import Head

_START_BYTES = 16
_MESSAGE_S = 20.0  # a message that has begun comes to its end, on a busy host, too


class DbusConnection:
    """A socket on which both sides have agreed to speak D-Bus."""

    def __init__(self, sock: socket.socket) -> None:
        """Take a socket over and send the opening, which the other side may read later."""
        self._socket = sock
        self._serials = itertools.count(1)
        self._sending = threading.Lock()
        self._room = bytearray(1 << 16)
        self.send(dbus_wire.opening())

    def open(self, deadline: Deadline) -> None:
        """Wait until the other side has let us in. Raises: WorldLost, BadWire, DeadlineExceeded."""
        self._socket.settimeout(deadline.remaining_or_none())
        try:
            dbus_wire.take_opening(self._socket)
        except TimeoutError as error:
            raise expired_error("QEMU's display to let us in") from error
        except OSError as error:
            raise WorldLost(f"QEMU's display hung up: {error}") from error

    def next_serial(self) -> int:
        """Return a number for a message of ours."""
        return next(self._serials)

    def send(self, data: bytes, fd: int | None = None) -> None:
        """Send a message, and a descriptor along with it. Raises: WorldLost."""
        try:
            with self._sending:
                sent = 0
                if fd is not None:
                    sent = socket.send_fds(self._socket, [data], [fd])
                self._socket.sendall(data[sent:])
        except OSError as error:
            raise WorldLost(f"QEMU's display hung up: {error}") from error

    def receive(self, deadline: Deadline | None = None) -> tuple[Head, memoryview]:
        """Return the next message: its head, and its body, which is valid until the next call.

        Raises: WorldLost at the end of the connection; BadWire; TimeoutError when nothing has begun by the deadline.
        """
        self._socket.settimeout(None if deadline is None else max(deadline.remaining(), 0.001))
        start = bytes(self._read(_START_BYTES, begun=False))
        head = dbus_wire.read_start(start)
        fields = bytes(self._read(head.fields_bytes))
        head = dbus_wire.read_fields(head, fields, dbus_wire.fields_length(start))
        return head, self._read(head.body_bytes)

    def close(self) -> None:
        """End what is blocked in it, and close; idempotent. Any thread."""
        with contextlib.suppress(OSError):  # not connected any more
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self, size: int, *, begun: bool = True) -> memoryview:
        if size > len(self._room):
            self._room = bytearray(size)
        view, done = memoryview(self._room)[:size], 0
        while done < size:
            try:
                count = self._socket.recv_into(view[done:])
            except TimeoutError as error:
                if begun or done:
                    raise BadWire("QEMU's display stopped in the middle of a message") from error
                raise
            except OSError as error:
                raise WorldLost(f"QEMU's display hung up: {error}") from error
            if count == 0:
                raise WorldLost("QEMU's display hung up")
            done += count
            if not begun:
                begun = True
                self._socket.settimeout(_MESSAGE_S)
        return view
