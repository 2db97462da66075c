"""Messages between the owner and its supervisor: tuples of plain values over a Unix stream socket, with descriptors.

A frame is the length of the body (4 bytes), the number of descriptors that belong to it (4 bytes) and the body, a tuple
in the interpreter's own ``marshal`` form: both ends run the same interpreter, and nobody else holds an end.
"""

from __future__ import annotations

import _socket
import marshal
import os
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Message = tuple[Any, ...]

HEADER_BYTES = 8
MAX_FDS = 200  # the kernel passes at most 253 at once
READ_BYTES = 1 << 16

# Operations, sent by the owner as (number, operation, …); answered by (number, error or None, value).
SPAWN = "spawn"  # (program, argv, env, cwd, child's fd numbers, nice, stop signal, grace_s, world, name) -> (key, pid)
SIGNAL = "signal"  # (key, signal) -> None
STOP = "stop"  # (key, grace_s or None) -> exit code
STOP_WORLD = "stop-world"  # (world, grace_s or None) -> [(key, name, stop signal, grace_s), …]
PIDFD = "pidfd"  # (key,) -> None, with one descriptor
SHUTDOWN = "shutdown"  # (grace_s,) -> None, then the supervisor ends

# Told without being asked, as (0, event, …).
EXITED = "exited"  # (key, return code)

STUCK = "stuck"  # the error of a stop when processes outlive SIGKILL; the value lists them


def pack(message: Message, fd_count: int = 0) -> bytes:
    """Return one frame."""
    body = marshal.dumps(message)
    return len(body).to_bytes(4, "little") + fd_count.to_bytes(4, "little") + body


class Unpacker:
    """Cuts a byte stream into messages and gives each its descriptors.

    Descriptors arrive no later than the bytes they were sent with and in the same order, so a queue pairs them.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._fds: list[int] = []

    def feed(self, data: bytes, fds: list[int]) -> Iterator[tuple[Message, list[int]]]:
        """Take what was received; yield each complete message with its descriptors."""
        self._bytes += data
        self._fds += fds
        while len(self._bytes) >= HEADER_BYTES:
            size = HEADER_BYTES + int.from_bytes(self._bytes[:4], "little")
            if len(self._bytes) < size:
                return
            count = int.from_bytes(self._bytes[4:8], "little")
            message = marshal.loads(self._bytes[HEADER_BYTES:size])
            del self._bytes[:size]
            own, self._fds = self._fds[:count], self._fds[count:]
            yield message, own


def receive(sock: _socket.socket) -> tuple[bytes, list[int]]:
    """Receive what is there: bytes (empty at the end of the stream) and close-on-exec descriptors."""
    space = _socket.CMSG_SPACE(4 * MAX_FDS)
    data, ancillary, _, _ = sock.recvmsg(READ_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
    fds: list[int] = []
    for level, kind, payload in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds += [int.from_bytes(payload[i : i + 4], "little") for i in range(0, len(payload) - len(payload) % 4, 4)]
    return data, fds


class Outbox:
    """What is still to be sent, in order, over a socket that does not block. Owns the descriptors given to it."""

    def __init__(self) -> None:
        self._frames: deque[tuple[memoryview, list[int]]] = deque()

    def put(self, message: Message, fds: list[int] | None = None) -> None:
        """Queue a message with descriptors, which are closed once sent."""
        self._frames.append((memoryview(pack(message, len(fds or ()))), fds or []))

    def flush(self, sock: _socket.socket) -> bool:
        """Send what fits now; tell whether everything went.

        Raises: OSError when the other end is gone.
        """
        while self._frames:
            data, fds = self._frames[0]
            rights = b"".join(fd.to_bytes(4, "little") for fd in fds)
            ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if fds else []
            try:
                sent = sock.sendmsg([data], ancillary, _socket.MSG_NOSIGNAL)
            except (BlockingIOError, InterruptedError):
                return False
            for fd in fds:
                os.close(fd)
            if sent == len(data):
                self._frames.popleft()
            else:
                self._frames[0] = (data[sent:], [])
        return True

    def clear(self) -> None:
        """Drop everything."""
        while self._frames:
            for fd in self._frames.popleft()[1]:
                os.close(fd)
