"""One connection to ``adbd``, with deadlines and an end from any thread. One stream at a time."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import Aborted, BadWire, Unauthorized, Unreachable, WorldLost
from gym_anything.runtime.guest.adb import wire
from gym_anything.runtime.guest.adb.wire import Banner, Message

_RECEIVE_BYTES = 1 << 16


class AdbConnection:
    """A connection. ``abort`` belongs to any thread, all else to one at a time."""

    def __init__(self, sock: socket.socket) -> None:
        """Use ``connect``."""
        self._socket = sock
        self._aborted = threading.Event()
        self._buffer = bytearray()
        self._numbers = 0
        self.max_data = wire.MAX_DATA
        self.banner = Banner("", {})

    @classmethod
    def connect(cls, port: int, deadline: Deadline) -> Self:
        """Connect to the device behind a port of 127.0.0.1 and agree upon a version.

        Raises: Unreachable, DeadlineExceeded (it is not up yet); Unauthorized (it wants a key); BadWire.
        """
        try:
            sock = socket.create_connection(("127.0.0.1", port), timeout=deadline.remaining_or_none())
        except OSError as error:
            raise Unreachable(f"no adbd behind port {port}: {error}") from error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = cls(sock)
        try:
            connection._shake_hands(deadline)
        except WorldLost as error:  # QEMU takes connections before the guest does
            connection.close()
            raise Unreachable(f"no adbd behind port {port} yet: {error}") from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _shake_hands(self, deadline: Deadline) -> None:
        self.send(Message(wire.CNXN, wire.VERSION, wire.MAX_DATA, f"host::features={wire.FEATURES}".encode()), deadline)
        answer = self.receive(deadline)
        if answer.command in (wire.AUTH, wire.STLS):
            raise Unauthorized(
                f"the device wants {'TLS' if answer.command == wire.STLS else 'a key'}; an image for this runner lets "
                "adb in without (a build with ro.adb.secure=0)"
            )
        if answer.command != wire.CNXN:
            raise BadWire(f"adbd answered {answer.name!r} to a connection")
        self.max_data = min(answer.b, wire.MAX_DATA)
        self.banner = wire.parsed_banner(answer.data)

    def open_stream(self, service: str, deadline: Deadline) -> AdbStream:
        """Open a service (``shell,v2,raw:…``, ``sync:``). Raises: WorldLost, BadWire (refused), DeadlineExceeded."""
        self._numbers += 1
        ours = self._numbers
        self.send(Message(wire.OPEN, ours, 0, service.encode() + b"\0"), deadline)
        while True:
            answer = self.receive(deadline)
            if answer.b != ours:
                continue  # the end of a stream before this one
            if answer.command == wire.OKAY:
                return AdbStream(self, ours, answer.a)
            if answer.command == wire.CLSE:
                raise BadWire(f"the device has no service {service.partition(':')[0]!r}")

    def send(self, message: Message, deadline: Deadline) -> None:
        """Send one message whole. Raises: WorldLost, Aborted, DeadlineExceeded."""
        try:
            self._socket.settimeout(self._left(deadline))
            self._socket.sendall(wire.packed(message))
        except TimeoutError as error:
            raise expired_error(f"adbd to take {message.name}") from error
        except OSError as error:
            raise self._lost(str(error)) from error

    def receive(self, deadline: Deadline) -> Message:
        """Return the next message whole. Raises: WorldLost, Aborted, BadWire, DeadlineExceeded."""
        self._fill(wire.HEADER.size, deadline)
        head, length = wire.unpacked_header(bytes(self._buffer[: wire.HEADER.size]))
        self._fill(wire.HEADER.size + length, deadline)  # a deadline that passes here leaves all to the next call
        data = bytes(self._buffer[wire.HEADER.size : wire.HEADER.size + length])
        del self._buffer[: wire.HEADER.size + length]
        return Message(head.command, head.a, head.b, data)

    def _fill(self, size: int, deadline: Deadline) -> None:
        while len(self._buffer) < size:
            try:
                self._socket.settimeout(self._left(deadline))
                data = self._socket.recv(_RECEIVE_BYTES)
            except TimeoutError as error:
                raise expired_error("adbd's answer") from error
            except OSError as error:
                raise self._lost(str(error)) from error
            if not data:
                raise self._lost("it closed the connection")
            self._buffer += data

    def _left(self, deadline: Deadline) -> float | None:
        left = deadline.remaining_or_none()
        if left is not None and left <= 0:
            raise TimeoutError
        return left

    def _lost(self, why: str) -> Aborted | WorldLost:
        if self._aborted.is_set():
            return Aborted("adb: ended by abort()")
        return WorldLost(f"the connection to adbd broke: {why}")

    def abort(self) -> None:
        """End every blocked and later call with ``Aborted``. Any thread; returns at once."""
        self._aborted.set()
        with contextlib.suppress(OSError):  # not connected any more
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close; idempotent."""
        self.abort()
        self._socket.close()


class AdbStream:
    """A service that runs. Each side sends one part and waits until the other has taken it."""

    def __init__(self, connection: AdbConnection, ours: int, theirs: int) -> None:
        self._connection = connection
        self._ours, self._theirs = ours, theirs
        self._pending = bytearray()
        self.ended = False

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Send bytes; what the service says meanwhile is kept. Raises: WorldLost when it has ended."""
        for start in range(0, len(data), self._connection.max_data):
            part = data[start : start + self._connection.max_data]
            self._connection.send(Message(wire.WRTE, self._ours, self._theirs, part), deadline)
            while not self._take(deadline):
                if self.ended:
                    raise WorldLost("adbd ended a service in the middle of what was sent to it")

    def finish(self, data: bytes, deadline: Deadline) -> None:
        """Send the last words; a service may end upon them before it says that it took them. Raises: WorldLost."""
        self._connection.send(Message(wire.WRTE, self._ours, self._theirs, data), deadline)
        while not self.ended and not self._take(deadline):
            pass
        self.close(deadline)

    def read(self, deadline: Deadline) -> bytes:
        """Return what the service has said since; empty at its end."""
        while not self._pending and not self.ended:
            self._take(deadline)
        data = bytes(self._pending)
        self._pending.clear()
        return data

    def read_exactly(self, count: int, deadline: Deadline) -> bytes:
        """Return so many bytes. Raises: BadWire when the service ends before."""
        while len(self._pending) < count:
            if self.ended:
                raise BadWire(f"adbd ended a service after {len(self._pending)} of {count} bytes")
            self._take(deadline)
        data = bytes(self._pending[:count])
        del self._pending[:count]
        return data

    def close(self, deadline: Deadline) -> None:
        """End the service and what it started; idempotent."""
        if not self.ended:
            self.ended = True
            self._connection.send(Message(wire.CLSE, self._ours, self._theirs), deadline)

    def _take(self, deadline: Deadline) -> bool:
        """Take one message; True when it says that ours was taken."""
        message = self._connection.receive(deadline)
        if message.b != self._ours:
            return False
        if message.command == wire.WRTE:
            self._pending += message.data
            self._connection.send(Message(wire.OKAY, self._ours, self._theirs), deadline)
        elif message.command == wire.CLSE:
            self.ended = True
            self._connection.send(Message(wire.CLSE, self._ours, self._theirs), deadline)
        return message.command == wire.OKAY
