"""What a pool and its shards say to each other. Data only; each travels as a JSON list: its name, then its fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gym_anything.errors import BadWire
from gym_anything.pool.replica_events import Cause


@dataclass(frozen=True, slots=True)
class Message:
    """Something said."""

    def text(self) -> str:
        """Return its JSON."""
        return _encode([type(self).__name__, *(getattr(self, name) for name in _FIELDS[type(self).__name__])])


# --- to a shard --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Open(Message):
    """The first message. ``rules``: those of its replicas, as plain data. ``log_level``: what is logged from it on is
    told."""

    locator: str
    arguments: Mapping[str, Any]
    rules: Mapping[str, Any]
    log_level: int


@dataclass(frozen=True, slots=True)
class Add(Message):
    """Have a replica, and want a world for it."""

    replica: int


@dataclass(frozen=True, slots=True)
class Retire(Message):
    """Have it go once its task is over."""

    replica: int
    reason: str


@dataclass(frozen=True, slots=True)
class Assign(Message):
    """It is given to a task."""

    replica: int
    lease: str
    limit_s: float | None


@dataclass(frozen=True, slots=True)
class Beat(Message):
    """The owner of a lease is alive."""

    replica: int
    lease: str


@dataclass(frozen=True, slots=True)
class Release(Message):
    """The owner is done with it."""

    replica: int
    lease: str
    broken: bool


@dataclass(frozen=True, slots=True)
class Do(Message):
    """Do an operation, once. ``argument`` is JSON text of its own where it is sent, a value where it is received."""

    replica: int
    lease: str
    number: int
    operation: str
    argument: Any

    def text(self) -> str:
        """As of every message."""
        return f'["Do",{self.replica},"{self.lease}",{self.number},{_encode(self.operation)},{self.argument}]'


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Retire it now, whatever it does."""

    replica: int


@dataclass(frozen=True, slots=True)
class Answer(Message):
    """The guard's verdict on what was asked."""

    replica: int
    admitted: bool
    reason: str
    retry_after_s: float


# --- from a shard ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened(Message):
    """It is ready for replicas; or it is not, with the error why."""

    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Alive(Message):
    """Its loop turns."""


@dataclass(frozen=True, slots=True)
class Logged(Message):
    """A record of its log. ``at``: seconds since 1970. ``error``: an exception in words."""

    logger: str
    level: int
    at: float
    words: str
    extras: Mapping[str, Any]
    error: str | None


@dataclass(frozen=True, slots=True)
class Moved(Message):
    """A replica went from one state to another: a transition of its story."""

    replica: int
    at: float
    before: str
    after: str
    reason: str
    generation: int
    lease: str | None


@dataclass(frozen=True, slots=True)
class LeaseEnded(Message):
    """A task lost its world. ``cause``: see ``Cause``."""

    replica: int
    lease: str
    reason: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Measured(Message):
    """Its world takes so much memory."""

    replica: int
    memory_mib: float


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """May a world be created for it?"""

    replica: int
    recovery: bool


@dataclass(frozen=True, slots=True)
class Settled(Message):
    """Its world is there, or will not be: what was set aside for it is free again."""

    replica: int


@dataclass(frozen=True, slots=True)
class NewSlab(Message):
    """Its results lie in a new slab, whose descriptor comes along."""

    replica: int


@dataclass(frozen=True, slots=True)
class Did(Message):
    """What became of an operation: a value (``special``: see ``payload``), or an error as it travels."""

    replica: int
    lease: str
    number: int
    error: Mapping[str, Any] | None
    special: bool
    value: Any

    def text(self) -> str:
        """As of every message."""
        error = "null" if self.error is None else _encode(self.error)
        special = "true" if self.special else "false"
        return f'["Did",{self.replica},"{self.lease}",{self.number},{error},{special},{self.value}]'


@dataclass(frozen=True, slots=True)
class Stopped(Message):
    """Nothing is left of a replica."""

    replica: int


_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=str).encode
_decode = json.JSONDecoder().raw_decode
_KINDS = {kind.__name__: kind for kind in Message.__subclasses__()}
_FIELDS = {name: tuple(field.name for field in fields(kind)) for name, kind in _KINDS.items()}


def parse_messages(data: bytes | bytearray | memoryview) -> list[Message]:
    """Return the messages of one frame. Raises: BadWire."""
    try:
        text = str(data, "utf-8")
        items, end = _decode(text)
        if end != len(text):
            raise ValueError(f"{len(text) - end} characters too many")
        return [_parsed(item) for item in items]
    except (TypeError, ValueError, RecursionError) as error:
        raise BadWire(f"no messages of a shard: {error}") from error


def _parsed(item: Sequence[Any]) -> Message:
    kind = _KINDS.get(item[0]) if isinstance(item, list) and item else None
    if kind is None:
        raise BadWire(f"no message of a shard: {item!r:.100}")
    return kind(*item[1:])
