"""QEMU's monitor protocol as a pure machine: bytes in, happenings out; bytes to send are returned, never sent.

    GREETING --{"QMP": …}--> NEGOTIATING --capabilities answered--> READY --failure or end of file--> ENDED

It ends once, for one reason, and keeps that reason: whatever is asked afterwards gets it.

Source: QEMU ``docs/interop/qmp-spec.txt``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gym_anything.errors import BadWire, GymAnythingError, WorldLost

MAX_LINE_BYTES = 16 << 20
_QUOTED = 200
_VERSION_OF = "qemu"


class State(Enum):
    """Where the conversation stands."""

    GREETING = "greeting"
    NEGOTIATING = "negotiating"
    READY = "ready"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes that must go to QEMU now."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Ready:
    """Commands may be given. ``version`` is QEMU's, such as ``(7, 2, 22)``."""

    version: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one command: its value, or QEMU's refusal."""

    id: str
    command: str
    value: Any = None
    refused: bool = False
    error_class: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened by itself. ``at`` is QEMU's wall clock in seconds."""

    name: str
    data: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The conversation is over, for this reason."""

    reason: GymAnythingError


Happening = Send | Ready | Reply | Event | Ended


@dataclass
class QmpProtocol:
    """One conversation.

    Attributes:
        late: answers to commands that nobody waits for any more.
        ended: why the conversation ended.
    """

    state: State = State.GREETING
    late: int = 0
    ended: GymAnythingError | None = None
    version: tuple[int, int, int] = (0, 0, 0)
    _buffer: bytes = b""
    _count: int = 0
    _pending: dict[str, str] = field(default_factory=dict)
    _abandoned: set[str] = field(default_factory=set)

    def command(self, name: str, arguments: Mapping[str, Any] | None = None) -> tuple[str, bytes]:
        """Return the id of a new command and the bytes that give it.

        Raises: what ended the conversation; BadWire before it is READY.
        """
        if self.ended is not None:
            raise self.ended
        if self.state is not State.READY:
            raise BadWire(f"QEMU's monitor is still {self.state.value}; {name!r} cannot be asked yet")
        return self._command(name, arguments)

    def abandon(self, id: str) -> None:
        """Forget a command; its answer, should it still come, is counted as late."""
        if self._pending.pop(id, None) is not None:
            self._abandoned.add(id)

    def feed(self, data: bytes) -> list[Happening]:
        """Take what came from QEMU; empty bytes mean that it hung up."""
        if self.ended is not None:
            return []
        if not data:
            return [self._end(WorldLost("QEMU closed its monitor: it has ended"))]
        self._buffer += data
        happenings: list[Happening] = []
        while self.ended is None and b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            happenings += self._line(line)
        if self.ended is None and len(self._buffer) > MAX_LINE_BYTES:
            happenings.append(self._end(BadWire(f"QEMU sent a line of more than {MAX_LINE_BYTES} bytes")))
        return happenings

    def fail(self, reason: GymAnythingError) -> GymAnythingError:
        """End the conversation from our side; the first reason is the one that stays. Returns that."""
        if self.ended is None:
            self._end(reason)
        assert self.ended is not None
        return self.ended

    def _command(self, name: str, arguments: Mapping[str, Any] | None) -> tuple[str, bytes]:
        self._count += 1
        id = f"ga-{self._count}"
        message: dict[str, Any] = {"execute": name, "id": id}
        if arguments:
            message["arguments"] = dict(arguments)
        self._pending[id] = name
        return id, json.dumps(message).encode() + b"\n"

    def _line(self, line: bytes) -> list[Happening]:
        if not line.strip():
            return []
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return [self._garbage(line)]
        if not isinstance(message, dict):
            return [self._garbage(line)]
        if self.state is State.GREETING:
            return self._greeting(message, line)
        if "event" in message:
            return self._event(message, line)
        if "return" in message or "error" in message:
            return self._reply(message, line)
        return [self._garbage(line)]

    def _greeting(self, message: dict[str, Any], line: bytes) -> list[Happening]:
        try:
            numbers = message["QMP"]["version"][_VERSION_OF]
            self.version = (int(numbers["major"]), int(numbers["minor"]), int(numbers["micro"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            return [self._garbage(line)]
        self.state = State.NEGOTIATING
        return [Send(self._command("qmp_capabilities", None)[1])]

    def _event(self, message: dict[str, Any], line: bytes) -> list[Happening]:
        name, data, stamp = message["event"], message.get("data", {}), message.get("timestamp", {})
        if not isinstance(name, str) or not isinstance(data, dict) or not isinstance(stamp, dict):
            return [self._garbage(line)]
        try:
            at = int(stamp.get("seconds", -1)) + int(stamp.get("microseconds", 0)) / 1e6
        except (TypeError, ValueError, OverflowError):
            return [self._garbage(line)]
        return [Event(name, data, at)]

    def _reply(self, message: dict[str, Any], line: bytes) -> list[Happening]:
        id = message.get("id")
        if not isinstance(id, str):
            return [self._garbage(line)]  # QEMU's answer to something it could not even parse
        if id in self._abandoned:
            self._abandoned.discard(id)
            self.late += 1
            return []
        command = self._pending.pop(id, None)
        if command is None:
            return [self._end(BadWire(f"QEMU answered a question that was never asked: {_quoted(line)}"))]
        reply = _reply_of(id, command, message)
        if reply is None:
            return [self._garbage(line)]
        if self.state is State.READY:
            return [reply]
        if reply.refused:
            return [self._end(BadWire(f"QEMU refused to negotiate: {reply.text}"))]
        self.state = State.READY
        return [Ready(self.version)]

    def _garbage(self, line: bytes) -> Ended:
        return self._end(BadWire(f"QEMU's monitor sent what is not its protocol: {_quoted(line)}"))

    def _end(self, reason: GymAnythingError) -> Ended:
        self.state, self.ended = State.ENDED, reason
        self._buffer = b""
        self._pending.clear()
        self._abandoned.clear()
        return Ended(reason)


def _reply_of(id: str, command: str, message: dict[str, Any]) -> Reply | None:
    if "error" not in message:
        return Reply(id, command, message["return"])
    error = message["error"]
    if not isinstance(error, dict):
        return None
    return Reply(id, command, None, True, str(error.get("class", "")), str(error.get("desc", "")))


def _quoted(line: bytes) -> str:
    return repr(line[:_QUOTED])
