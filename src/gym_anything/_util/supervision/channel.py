"""The supervisor's end of the connection to its owner: never blocks, and survives the owner's end."""

from __future__ import annotations

import _socket
import select

from gym_anything._util.supervision import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Channel:
    """Messages in, answers and events out."""

    def __init__(self, sock: _socket.socket, poll: select.poll) -> None:
        """Args: sock: does not block; poll: where the socket is watched, which this object sees to."""
        self.fd = sock.fileno()
        self.open = True
        """Whether the owner's end is still there."""
        self._sock = sock
        self._poll = poll
        self._unpacker = wire.Unpacker()
        self._outbox = wire.Outbox()
        poll.register(self.fd, select.POLLIN)

    def ready(self, events: int) -> Iterator[tuple[wire.Message, list[int]]]:
        """Act on what ``poll`` said; yield the messages that came, each with its descriptors."""
        if events & select.POLLOUT:
            self._flush()
        if not self.open or not events & ~select.POLLOUT:
            return
        try:
            data, fds = wire.receive(self._sock)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self._close()
        yield from self._unpacker.feed(data, fds)

    def answer(
        self, number: int, value: Any, error: tuple[int, str] | None = None, fds: list[int] | None = None
    ) -> None:
        """Answer a request; descriptors are closed once sent."""
        self._put((number, error, value), fds)

    def tell(self, event: str, *facts: Any) -> None:
        """Say something unasked."""
        self._put((0, event, *facts), None)

    def _put(self, message: wire.Message, fds: list[int] | None) -> None:
        self._outbox.put(message, fds)
        self._flush()

    def _flush(self) -> None:
        if not self.open:
            self._outbox.clear()
            return
        try:
            empty = self._outbox.flush(self._sock)
        except OSError:
            self._close()
            return
        self._poll.modify(self.fd, select.POLLIN if empty else select.POLLIN | select.POLLOUT)

    def _close(self) -> None:
        if self.open:
            self.open = False
            self._poll.unregister(self.fd)
            self._sock.close()
            self._outbox.clear()
