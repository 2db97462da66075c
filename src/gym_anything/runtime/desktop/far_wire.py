"""The gate's wire format: the client's half of ``native/ga-gate/protocol.def``.

A test reads that file and compares every code, constant and field below with it. What it takes from ``ga-desktop``'s
protocol is taken from ``wire`` here.
"""

from __future__ import annotations

import struct

from gym_anything.runtime.desktop import wire

CONSTANTS = {
    "MAGIC": 0x31544147,
    "VERSION": 1,
    "NONCE_SIZE": 32,
    "SESSION_SIZE": 16,
    "MIN_TOKEN_SIZE": 16,
    "MAX_TOKEN_SIZE": 256,
    "MAX_BODY": (1 << 20) + 16,
    "MAX_RECT_BYTES": 512 << 10,
    "ROLE_FRAMES": 1,
    "ROLE_INPUT": 2,
    "WELCOME_RELEASED": 2,
    "FRAME_FRESH": 1,
    "FRAME_POINTER": 2,
    "FRAME_WHOLE": 4,
    "FRAME_UNCHANGED": 8,
    "ENCODING_RAW": 0,
    "ENCODING_LZ4": 1,
    "ENCODING_JPEG": 2,
}
MESSAGES = {
    "HELLO": 1,
    "CHALLENGE": 2,
    "PROOF": 3,
    "WELCOME": 4,
    "FAILED": 5,
    "BYE": 6,
    "FRAME_REQUEST": 16,
    "FRAME": 17,
    "RECT": 18,
    "FRAME_END": 19,
    "SETTLE": 20,
    "SETTLED": 21,
    "INPUT": 32,
    "INPUT_ACK": 33,
    "POINTER_REQUEST": 34,
    "POINTER": 35,
    "RELEASE": 36,
    "RELEASED": 37,
}
OWN_ERRORS = {32: "session-lost"}
"""Beside those of ``wire``."""

OWN_FIELDS = {
    "HELLO": struct.Struct("<III32s16sQQ"),
    "CHALLENGE": struct.Struct("<I32s32s"),
    "PROOF": struct.Struct("<32s"),
    "WELCOME": struct.Struct("<16sIQQIIHH"),
    "FAILED": struct.Struct("<II"),
    "BYE": struct.Struct("<"),
    "FRAME_REQUEST": struct.Struct("<IBB"),
    "FRAME": struct.Struct("<IIQQQQHH"),
    "RECT": struct.Struct("<HHHHB"),
    "FRAME_END": struct.Struct("<QI"),
    "SETTLE": struct.Struct("<IIII"),
    "SETTLED": struct.Struct("<II"),
    "INPUT": struct.Struct("<QI"),
    "INPUT_ACK": struct.Struct("<QIQiiI"),
    "POINTER_REQUEST": struct.Struct("<"),
    "POINTER": struct.Struct("<ii"),
    "RELEASE": struct.Struct("<"),
    "RELEASED": struct.Struct("<"),
}
DIALECT = wire.Dialect(CONSTANTS, MESSAGES, wire.ERRORS | OWN_ERRORS, wire.FIELDS | OWN_FIELDS)

NO_SESSION = bytes(CONSTANTS["SESSION_SIZE"])


def batch_body(batch: int, body: bytes) -> bytes:
    """Return the body of an INPUT message from the batch's number and the body of ``ga-desktop``'s INPUT."""
    return struct.pack("<Q", batch) + body


def frame_body(flags: int, quality: int | None) -> bytes:
    """Return the body of a FRAME_REQUEST; ``quality`` None asks for exact pixels. Raises: ValueError."""
    if quality is not None and not 1 <= quality <= 100:
        raise ValueError(f"a quality is 1 to 100, or None for exact pixels; got {quality}")
    encoding = CONSTANTS["ENCODING_LZ4" if quality is None else "ENCODING_JPEG"]
    return OWN_FIELDS["FRAME_REQUEST"].pack(flags, encoding, quality or 0)
