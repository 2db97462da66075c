"""As much of D-Bus as QEMU's display speaks: messages in little endian, and opening a connection without a bus.

Source: D-Bus Specification, "Message Protocol" and "Authentication Protocol".
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from gym_anything.errors import BadWire, WorldLost

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
NO_REPLY = 1
MAX_BODY = 128 << 20
"""The specification's bound of a message."""
_MAX_FIELDS = 1 << 16
_PATH, _INTERFACE, _MEMBER, _REPLY_SERIAL, _DESTINATION, _SENDER, _SIGNATURE, _UNIX_FDS = 1, 2, 3, 5, 6, 7, 8, 9
_KINDS = {_PATH: "o", _INTERFACE: "s", _MEMBER: "s", 4: "s", _REPLY_SERIAL: "u", _SENDER: "s", _DESTINATION: "s"}
_KINDS |= {_SIGNATURE: "g", _UNIX_FDS: "u"}
_FIXED = struct.Struct("<cBBBIII")
_LITTLE, _VERSION = b"l", 1


@dataclass(frozen=True, slots=True)
class Head:
    """What a message says of itself. ``fields`` are its length in bytes, with padding, behind the first sixteen."""

    kind: int
    flags: int
    body_bytes: int
    serial: int
    fields_bytes: int
    member: str = ""
    interface: str = ""
    path: str = ""
    reply_to: int = 0
    signature: str = ""


def read_start(data: bytes | bytearray) -> Head:
    """Return what the first sixteen bytes of a message say. Raises: BadWire."""
    order, kind, flags, version, body, serial, fields = _FIXED.unpack_from(data)
    if order != _LITTLE or version != _VERSION or body > MAX_BODY or fields > _MAX_FIELDS:
        raise BadWire(f"QEMU's display sent what is no D-Bus message of ours: {bytes(data[:16])!r}")
    return Head(kind, flags, body, serial, _padded(fields))


def read_fields(start: Head, data: bytes | bytearray, length: int) -> Head:
    """Return the head with its named fields. Args: length: of the fields, without padding. Raises: BadWire."""
    found: dict[int, str | int] = {}
    at = 0
    try:
        while at < length:
            at = _padded(at)
            code, size = data[at], data[at + 1]
            kind = bytes(data[at + 2 : at + 2 + size]).decode("ascii")
            at += 2 + size + 1
            value, at = _read_value(kind, data, at)
            if _KINDS.get(code) == kind:
                found[code] = value
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise BadWire(f"QEMU's display sent a D-Bus message with a torn head: {error}") from error
    return Head(
        start.kind,
        start.flags,
        start.body_bytes,
        start.serial,
        start.fields_bytes,
        str(found.get(_MEMBER, "")),
        str(found.get(_INTERFACE, "")),
        str(found.get(_PATH, "")),
        int(found.get(_REPLY_SERIAL, 0)),
        str(found.get(_SIGNATURE, "")),
    )


def fields_length(data: bytes | bytearray) -> int:
    """Return the length of a message's fields without padding, from its first sixteen bytes."""
    return int(_FIXED.unpack_from(data)[6])


def call(
    serial: int,
    path: str,
    interface: str,
    member: str,
    *,
    signature: str = "",
    body: bytes = b"",
    fds: int = 0,
    destination: str = "",
) -> bytes:
    """Return a method call. Args: fds: how many descriptors go along. destination: whose, where there is a bus."""
    fields: list[tuple[int, str | int]] = [(_PATH, path), (_INTERFACE, interface), (_MEMBER, member)]
    if destination:
        fields.append((_DESTINATION, destination))
    if signature:
        fields.append((_SIGNATURE, signature))
    if fds:
        fields.append((_UNIX_FDS, fds))
    return _message(CALL, 0, serial, fields, body)


def answer(serial: int, to: Head, *, signature: str = "", body: bytes = b"") -> bytes:
    """Return the answer to a call."""
    fields: list[tuple[int, str | int]] = [(_REPLY_SERIAL, to.serial)]
    if signature:
        fields.append((_SIGNATURE, signature))
    return _message(RETURN, NO_REPLY, serial, fields, body)


def error_text(head: Head, body: bytes | bytearray) -> str:
    """Return what an error message says."""
    if not head.signature.startswith("s"):
        return "no reason given"
    return str(_read_value("s", body, 0)[0])


def opening() -> bytes:
    """Return what a client says first: who it is, which the kernel vouches for, and that descriptors may travel."""
    user = str(os.getuid()).encode().hex().encode()
    return b"\0AUTH EXTERNAL " + user + b"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"


def take_opening(sock: socket.socket) -> None:
    """Read what the other side answers to ``opening``. Raises: WorldLost, BadWire, TimeoutError."""
    for wanted in (b"OK ", b"AGREE_UNIX_FD"):
        line = bytearray()
        while not line.endswith(b"\r\n"):
            byte = sock.recv(1)  # no byte of the message behind it
            if not byte:
                raise WorldLost("QEMU's display hung up while it was opened")
            line += byte
            if len(line) > MAX_LINE:
                break
        if not line.startswith(wanted):
            raise BadWire(f"QEMU's display does not let us in: {bytes(line[:80])!r}")


MAX_LINE = 512


def _message(kind: int, flags: int, serial: int, fields: Sequence[tuple[int, str | int]], body: bytes) -> bytes:
    data = bytearray()
    for code, value in fields:
        data += bytes(_padded(len(data)) - len(data))
        data += bytes([code, 1]) + _KINDS[code].encode() + b"\0"
        data += _value(_KINDS[code], value, len(data))
    head = _FIXED.pack(_LITTLE, kind, flags, _VERSION, len(body), serial, len(data))
    return head + bytes(data) + bytes(_padded(len(data)) - len(data)) + body


def _value(kind: str, value: str | int, at: int) -> bytes:
    if isinstance(value, int):
        return bytes(-at % 4) + struct.pack("<I", value)
    text = value.encode()
    if kind == "g":
        return bytes([len(text)]) + text + b"\0"
    return bytes(-at % 4) + struct.pack("<I", len(text)) + text + b"\0"


def _read_value(kind: str, data: bytes | bytearray, at: int) -> tuple[str | int, int]:
    if kind == "g":
        size = data[at]
        return bytes(data[at + 1 : at + 1 + size]).decode("ascii"), at + 2 + size
    at += -at % 4
    (number,) = struct.unpack_from("<I", data, at)
    if kind == "u":
        return int(number), at + 4
    if kind not in ("s", "o"):
        raise BadWire(f"QEMU's display sent a D-Bus head with a field of kind {kind!r}")
    text = bytes(data[at + 4 : at + 4 + number])
    if len(text) < number:
        raise IndexError("a text goes beyond the head")
    return text.decode(errors="replace"), at + 5 + int(number)


def _padded(size: int) -> int:
    return (size + 7) // 8 * 8
