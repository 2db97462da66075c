"""What has arrived over a stream and has not been taken yet: messages in one bounded piece of memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gym_anything.errors import BadWire
from gym_anything.runtime.desktop.wire import FIELDS, Dialect

_HEADER = FIELDS["HEADER"]
_TLS_ALERT = re.compile(rb"\x15\x03[\x00-\x04]\x00\x02")


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message whose body lies in the inbox until more is received."""

    message: int
    request: int
    body: memoryview


class Inbox:
    """Bytes come in by ``space`` and ``note``, messages go out by ``take``."""

    def __init__(self, dialect: Dialect, largest_body: int) -> None:
        """Args: largest_body: a longer message is refused before it is received."""
        self._dialect = dialect
        self._largest_body = largest_body
        self._memory = memoryview(bytearray(2 * (_HEADER.size + largest_body)))
        self._start = self._end = 0
        self.received = 0
        """How many bytes have come in so far."""

    def take(self) -> Arrived | None:
        """Take the first message if all of it is there.

        Raises: BadWire, for what is no message of the protocol, or too long or too short for one.
        """
        memory, start = self._memory, self._start
        if self._end - start < _HEADER.size:
            return None
        size, message, zero, request = _HEADER.unpack_from(memory, start)
        if message not in self._dialect.names or zero or size > self._largest_body:
            self.check_end()
            raise BadWire("what listens there sent what is no message of a gate's protocol")
        name = self._dialect.names[message]
        if size < self._dialect.fields[name].size:
            raise BadWire(f"the gate sent a {name} that is too short")
        begin = start + _HEADER.size
        if self._end < begin + size:
            return None
        self._start = begin + size
        return Arrived(message, request, memory[begin : begin + size])

    def space(self) -> memoryview:
        """Return where to receive to. Bodies taken before are void from now on."""
        waiting = self._end - self._start
        if not waiting:
            self._start = self._end = 0
        elif len(self._memory) - self._start < _HEADER.size + self._largest_body:
            self._memory[:waiting] = self._memory[self._start : self._end]
            self._start, self._end = 0, waiting
        return self._memory[self._end :]

    def note(self, received: int) -> None:
        """Note how many bytes have come into ``space``."""
        self._end += received
        self.received += received

    def check_end(self) -> None:
        """Raise BadWire if the stream has ended with the words of somebody who expected TLS."""
        if _TLS_ALERT.match(self._memory[self._start : self._end]):
            raise BadWire("the gate speaks TLS and we do not; give its address tls=Tls(...)")
