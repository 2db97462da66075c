"""adb's messages as bytes and back. Pure.

Source: Android ``packages/modules/adb/protocol.txt``, ``adb.h``, ``shell_protocol.h``, ``file_sync_protocol.h``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from gym_anything.errors import BadWire

VERSION = 0x01000001
"""From this version on nobody looks at checksums."""
MAX_DATA = 1 << 20
HEADER = struct.Struct("<6I")
SHELL_HEADER = struct.Struct("<BI")
SYNC_HEADER = struct.Struct("<4sI")
SYNC_STAT = struct.Struct("<III")
SYNC_ENTRY = struct.Struct("<IIII")
SYNC_PART_BYTES = 64 << 10
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
FEATURES = "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"
_ALL_BITS = 0xFFFFFFFF


def _command(name: bytes) -> int:
    return int.from_bytes(name, "little")


CNXN, OPEN, OKAY, CLSE, WRTE, AUTH, STLS = map(
    _command, (b"CNXN", b"OPEN", b"OKAY", b"CLSE", b"WRTE", b"AUTH", b"STLS")
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``a`` and ``b`` mean what the command says: stream numbers, mostly the sender's first."""

    command: int
    a: int
    b: int
    data: bytes = b""

    @property
    def name(self) -> str:
        """The command as four letters."""
        return self.command.to_bytes(4, "little").decode("ascii", errors="replace")


def packed(message: Message) -> bytes:
    """Return a message as it travels; with its checksum, which peers of before version 0x01000001 look at."""
    data = message.data
    header = (message.command, message.a, message.b, len(data), sum(data) & _ALL_BITS, message.command ^ _ALL_BITS)
    return HEADER.pack(*header) + data


def unpacked_header(header: bytes) -> tuple[Message, int]:
    """Return a message without its data, and how many bytes of data follow. Raises: BadWire."""
    command, a, b, length, _, magic = HEADER.unpack(header)
    if magic != command ^ _ALL_BITS:
        raise BadWire(f"this is not adb's protocol: {header[:8]!r}")
    if length > MAX_DATA:
        raise BadWire(f"adbd sends a message of {length} bytes; {MAX_DATA} were agreed upon")
    return Message(command, a, b), length


@dataclass(frozen=True, slots=True)
class Banner:
    """What a device says of itself."""

    kind: str
    properties: dict[str, str]

    @property
    def features(self) -> set[str]:
        """What its ``adbd`` can do."""
        return set(self.properties.get("features", "").split(","))


def parsed_banner(data: bytes) -> Banner:
    """Read ``device::name=value;…``."""
    kind, _, rest = data.rstrip(b"\0").decode("utf-8", errors="replace").partition(":")
    pairs = (pair.partition("=") for pair in rest.partition(":")[2].split(";") if "=" in pair)
    return Banner(kind, {name: value for name, _, value in pairs})
