"""One end of the connection between a pool and a shard: messages in both directions, descriptors along with them.

A frame is a length of four bytes, then a JSON list of messages. Each message is a frame and is written at once: that
costs less than to wait for the loop's next turn. Only while the other end does not read do they gather, and go as one.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import Callable

from gym_anything.errors import BadWire
from gym_anything.pool.shards.messages import Message, parse_messages

_HEAD = struct.Struct("!I")
_READ_BYTES = 1 << 16
_MOST_FDS = 64
_FD_BYTES = array.array("i").itemsize
_FDS_BYTES = socket.CMSG_SPACE(_MOST_FDS * _FD_BYTES)
MOST_BYTES = 256 << 20


class MessagePort:
    """Belongs to the event loop that it was made in.

    Attributes:
        fds: descriptors that came and were not taken yet, oldest first.
    """

    def __init__(
        self, sock: socket.socket, on_message: Callable[[Message], None], on_end: Callable[[Exception | None], None]
    ) -> None:
        """Args: on_end: told once when the other end is gone, with what was wrong; not after ``close``."""
        sock.setblocking(False)
        self._sock, self._on_message, self._on_end = sock, on_message, on_end
        self._loop = asyncio.get_running_loop()
        self._said: list[str] = []
        self._said_fds: list[int] = []
        self._out: deque[tuple[memoryview, list[int]]] = deque()
        self._in = bytearray()
        self._taken = memoryview(bytearray(_READ_BYTES))  # a new one costs more than the read
        self._writing = self._closed = False
        self.fds: deque[int] = deque()
        self._loop.add_reader(sock, self._read)

    def say(self, message: Message, fd: int | None = None) -> None:
        """Send a message. ``fd`` goes along and is closed here. Never blocks."""
        if self._closed:
            if fd is not None:
                os.close(fd)
            return
        self._said.append(message.text())
        if fd is not None:
            self._said_fds.append(fd)
        if not self._writing:
            self._write()

    def close(self) -> None:
        """Hang up; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        for fd in [*self.fds, *self._said_fds, *(fd for _, fds in self._out for fd in fds)]:
            os.close(fd)
        self.fds.clear()
        self._said_fds.clear()
        self._out.clear()

    # --- out -----------------------------------------------------------------------------------------------------

    def _gather(self) -> bool:
        """Make a frame of what was said; tell whether there is anything to send."""
        if self._said:
            body = f"[{','.join(self._said)}]".encode()
            self._out.append((memoryview(_HEAD.pack(len(body)) + body), self._said_fds))
            self._said, self._said_fds = [], []
        return bool(self._out)

    def _write(self) -> None:
        """Send what can be sent now; go on when the other end has read."""
        while self._gather():
            data, fds = self._out[0]
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds[:_MOST_FDS]))] if fds else []
            try:
                # so many descriptors as one call may carry go with the first bytes, the others with the next ones
                sent = self._sock.sendmsg([data[:1] if len(fds) > _MOST_FDS else data], ancillary)
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                self._end(error)
                return
            for fd in fds[:_MOST_FDS]:
                os.close(fd)
            self._out[0] = (data[sent:], fds[_MOST_FDS:])
            if sent == len(data):
                self._out.popleft()
        if bool(self._out) != self._writing:
            self._writing = bool(self._out)
            if self._writing:
                self._loop.add_writer(self._sock, self._write)
            else:
                self._loop.remove_writer(self._sock)

    # --- in ------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            size, ancillary, _, _ = self._sock.recvmsg_into([self._taken], _FDS_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self.fds.extend(array.array("i", data[: len(data) - len(data) % _FD_BYTES]))
        if not size:
            self._end(None)
            return
        self._in += self._taken[:size]
        try:
            self._take_frames()
        except BadWire as error:
            self._end(error)

    def _take_frames(self) -> None:
        at, have = 0, len(self._in)
        while have - at >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._in, at)
            if length > MOST_BYTES:
                raise BadWire(f"a frame of {length} bytes; at most {MOST_BYTES} are taken")
            if have - at - _HEAD.size < length:
                break
            body = bytes(memoryview(self._in)[at + _HEAD.size : at + _HEAD.size + length])
            at += _HEAD.size + length
            for message in parse_messages(body):
                self._on_message(message)
                if self._closed:
                    return
        del self._in[:at]

    def _end(self, error: Exception | None) -> None:
        if not self._closed:
            self.close()
            self._loop.call_soon(self._on_end, error)  # not in the midst of what somebody was about to say
