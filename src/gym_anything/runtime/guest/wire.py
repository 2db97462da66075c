"""The frames of the guest protocol as pure functions: bytes in, fields out, and back.

``native/ga-guest/protocol.def`` defines the protocol and explains it; the tables here repeat it for Python and a test
compares the two. Nothing in this module does I/O.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gym_anything.errors import BadWire

CONSTANTS: Final[Mapping[str, int]] = {
    "MAGIC": 0x31474147,
    "VERSION": 1,
    "HEADER_SIZE": 12,
    "NONCE_SIZE": 32,
    "PROOF_SIZE": 32,
    "MIN_TOKEN_SIZE": 16,
    "MAX_TOKEN_SIZE": 256,
    "MAX_OPENING_PAYLOAD": 256,
    "MAX_PAYLOAD": 2162688,
    "MAX_CHUNK": 65536,
    "MAX_TAIL": 65536,
    "OUTPUT_WINDOW": 1048576,
    "STDIN_WINDOW": 262144,
    "OPENING_TIMEOUT_MS": 10000,
    "MAX_CONNECTIONS": 64,
    "MAX_CHANNELS": 256,
    "EXEC_PTY": 1,
    "EXEC_STDIN": 2,
    "EXEC_MERGE_STDERR": 4,
    "EXEC_EXACT_ENV": 8,
    "EXITED_TIMED_OUT": 1,
    "EXITED_CANCELLED": 2,
    "EXITED_KILL_INCOMPLETE": 4,
    "PUT_PARENTS": 1,
    "PUT_APPEND": 2,
    "STAT_FOLLOW": 1,
    "STAT_CHILDREN": 2,
    "MKDIR_PARENTS": 1,
    "REMOVE_TREE": 1,
    "KILL_TREE": 1,
    "PROCESS_RUNNING": 1,
    "PROCESS_ENDED": 2,
    "ROLE_INIT": 1,
    "ROLE_SERVE": 2,
}

ERRORS: Final[Mapping[str, int]] = {
    "ERROR_MALFORMED": 1,
    "ERROR_VERSION": 2,
    "ERROR_UNAUTHORIZED": 3,
    "ERROR_BUSY": 4,
    "ERROR_START": 5,
    "ERROR_FILE": 6,
    "ERROR_NO_PROCESS": 7,
    "ERROR_SHUTTING_DOWN": 8,
    "ERROR_DEADLINE": 9,
    "ERROR_CLOCK": 10,
    "ERROR_CANCELLED": 11,
    "ERROR_IDENTITY": 12,
}

# name: (code, direction, fields)
_TABLE: Final[Mapping[str, tuple[int, str, str]]] = {
    "HELLO": (1, "TO_GUEST", "u32 magic, u16 version, bytes nonce"),
    "CHALLENGE": (2, "TO_HOST", "u16 version, bytes nonce, bytes proof"),
    "PROOF": (3, "TO_GUEST", "bytes proof"),
    "WELCOME": (4, "TO_HOST", "u8 role, u32 pid, text build"),
    "REFUSED": (5, "TO_HOST", "u16 error, u16 version, text message"),
    "PING": (16, "TO_GUEST", ""),
    "PONG": (17, "TO_HOST", "u64 realtime_ns, u64 monotonic_ns"),
    "SET_CLOCK": (18, "TO_GUEST", "u64 realtime_ns"),
    "AWAKEN": (19, "TO_GUEST", "u64 realtime_ns, text machine_id, text interface, bytes address"),
    "EXEC": (
        20,
        "TO_GUEST",
        "u32 flags, u64 deadline_ms, u64 max_output, u16 rows, u16 columns, text user, text cwd, texts argv, texts env",
    ),
    "SPAWN": (21, "TO_GUEST", "u32 flags, text user, text cwd, text log_path, texts argv, texts env"),
    "STARTED": (22, "TO_HOST", "u32 pid"),
    "STDIN": (23, "TO_GUEST", "rest data"),
    "STDIN_END": (24, "TO_GUEST", ""),
    "OUTPUT": (25, "TO_HOST", "u8 stream, rest data"),
    "CREDIT": (26, "BOTH", "u32 bytes"),
    "EXITED": (
        27,
        "TO_HOST",
        "i32 status, i32 signal, u32 flags, u64 duration_ns, u64 stdout_total, u64 stdout_lost, u32 stdout_tail, "
        "u64 stderr_total, u64 stderr_lost, u32 stderr_tail",
    ),
    "SIGNAL": (28, "TO_GUEST", "i32 signal"),
    "RESIZE": (29, "TO_GUEST", "u16 rows, u16 columns"),
    "CANCEL": (30, "TO_GUEST", ""),
    "KILL": (31, "TO_GUEST", "u32 flags, u32 pid, i32 signal"),
    "POLL": (32, "TO_GUEST", "u32 pid"),
    "PROCESS": (33, "TO_HOST", "u8 state, i32 status, i32 signal"),
    "STAT": (40, "TO_GUEST", "u32 flags, u64 deadline_ms, text path"),
    "GET": (41, "TO_GUEST", "u64 deadline_ms, u64 offset, u64 max_size, text path"),
    "PUT": (42, "TO_GUEST", "u32 flags, u64 deadline_ms, u32 mode, text owner, text path"),
    "MKDIR": (43, "TO_GUEST", "u32 flags, u64 deadline_ms, u32 mode, text owner, text path"),
    "REMOVE": (44, "TO_GUEST", "u32 flags, u64 deadline_ms, text path"),
    "TAR_GET": (45, "TO_GUEST", "u64 deadline_ms, text path"),
    "TAR_PUT": (46, "TO_GUEST", "u64 deadline_ms, text owner, text path"),
    "ENTRY": (47, "TO_HOST", "u32 mode, u32 uid, u32 gid, u64 size, i64 mtime_ns, text name, text link_target"),
    "DONE": (50, "TO_HOST", "u64 value"),
    "FAILED": (51, "TO_HOST", "u16 error, i32 os_error, text message"),
    "SHUTDOWN": (60, "TO_GUEST", "u32 grace_ms"),
}

_NUMBERS: Final = {
    "u8": struct.Struct("<B"),
    "u16": struct.Struct("<H"),
    "u32": struct.Struct("<I"),
    "u64": struct.Struct("<Q"),
    "i32": struct.Struct("<i"),
    "i64": struct.Struct("<q"),
}
_HEADER: Final = struct.Struct("<IIHH")
HEADER_SIZE: Final = CONSTANTS["HEADER_SIZE"]


class FrameTooLarge(ValueError):
    """A message does not fit into a frame."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One kind of message: its code, who may send it, and ``(type, name)`` of each field in order."""

    name: str
    code: int
    direction: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A decoded message. ``fields`` hold int, bytes (``bytes``, ``text``, ``rest``) or list of bytes (``texts``)."""

    name: str
    fields: Mapping[str, Any]
    channel: int = 0

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


def _layout(name: str, code: int, direction: str, fields: str) -> Layout:
    pairs = [tuple(field.split()) for field in fields.split(",") if field.strip()]
    return Layout(name, code, direction, tuple((kind, field) for kind, field in pairs))


LAYOUTS: Final[Mapping[str, Layout]] = {name: _layout(name, *row) for name, row in _TABLE.items()}
_BY_CODE: Final = {layout.code: layout for layout in LAYOUTS.values()}


def _encode_bytes(value: bytes) -> bytes:
    return _NUMBERS["u32"].pack(len(value)) + value


def _encode_text(value: bytes) -> bytes:
    if b"\0" in value:
        raise ValueError(f"a NUL byte cannot be passed to the guest: {value!r:.80}")
    return _encode_bytes(value)


def _encode_field(kind: str, value: Any) -> bytes:
    if kind in _NUMBERS:
        return _NUMBERS[kind].pack(value)
    if kind == "rest":
        return bytes(value)
    if kind == "bytes":
        return _encode_bytes(value)
    if kind == "text":
        return _encode_text(value)
    return _NUMBERS["u32"].pack(len(value)) + b"".join(_encode_text(text) for text in value)


def encode_payload(name: str, /, **fields: Any) -> bytes:
    """Encode the fields of one message; every field must be given.

    Raises: ValueError for a NUL byte in a text, struct.error for a number out of range, KeyError for a missing field.
    """
    return b"".join(_encode_field(kind, fields[field]) for kind, field in LAYOUTS[name].fields)


def encode_frame(name: str, channel: int, /, **fields: Any) -> bytes:
    """Encode one whole frame. Raises FrameTooLarge."""
    payload = encode_payload(name, **fields)
    if len(payload) > CONSTANTS["MAX_PAYLOAD"]:
        raise FrameTooLarge(f"too long: {len(payload)} bytes for one {name}, {CONSTANTS['MAX_PAYLOAD']} are allowed")
    return _HEADER.pack(len(payload), channel, LAYOUTS[name].code, 0) + payload


class _Reader:
    """Takes fields from the front of a payload."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) != size:
            raise BadWire(f"a message from the guest is cut short: {size} bytes wanted, {len(part)} left")
        self.at += size
        return part

    def number(self, kind: str) -> int:
        layout = _NUMBERS[kind]
        return int(layout.unpack(self.take(layout.size))[0])

    def field(self, kind: str) -> Any:
        if kind in _NUMBERS:
            return self.number(kind)
        if kind == "rest":
            return self.take(len(self.data) - self.at)
        if kind == "texts":
            return [self.field("text") for _ in range(self.number("u32"))]
        value = self.take(self.number("u32"))
        if kind == "text" and b"\0" in value:
            raise BadWire("a text from the guest has a NUL byte")
        return value


def decode_payload(name: str, payload: bytes, *, channel: int = 0) -> Message:
    """Decode the fields of one message. Raises BadWire when it does not fit exactly."""
    reader = _Reader(payload)
    fields = {field: reader.field(kind) for kind, field in LAYOUTS[name].fields}
    if reader.at != len(payload):
        raise BadWire(f"a {name} from the guest has {len(payload) - reader.at} bytes too many")
    return Message(name, fields, channel)


def decode_header(header: bytes) -> tuple[int, int, str]:
    """Return payload size, channel and message name of a frame header. Raises BadWire."""
    size, channel, code, zero = _HEADER.unpack(header)
    layout = _BY_CODE.get(code)
    if layout is None or zero or size > CONSTANTS["MAX_PAYLOAD"] or layout.direction == "TO_GUEST":
        raise BadWire(f"not a frame of the guest protocol: code {code}, size {size}")
    return size, channel, layout.name


def decode_entries(data: bytes) -> Iterator[Message]:
    """Decode the output of STAT: entries, each preceded by its size."""
    reader = _Reader(data)
    while reader.at < len(data):
        yield decode_payload("ENTRY", reader.field("bytes"))


def proof(token: bytes, side: str, host_nonce: bytes, guest_nonce: bytes) -> bytes:
    """Compute what ``side`` ("host" or "guest") sends to prove that it knows the token."""
    version = struct.pack("<H", CONSTANTS["VERSION"])
    return hmac.new(token, b"ga-guest " + side.encode() + host_nonce + guest_nonce + version, hashlib.sha256).digest()


def texts(values: Sequence[str | bytes]) -> list[bytes]:
    """Encode strings as UTF-8; lone surrogates stand for the bytes they came from (as ``os.fsencode`` has it)."""
    return [value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape") for value in values]
