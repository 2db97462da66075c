"""What passes between a started pool and who uses it: JSON documents with arrays beside them, over a Unix socket.

A message is ``length of the JSON (u32), length of the data (u32), JSON, data``, big-endian. In the JSON an array is
``{"$array": [offset, dtype, shape]}`` and bytes are ``{"$bytes": [offset, length]}``, both in the data.
"""

from __future__ import annotations

import json
import socket
import struct
from asyncio import IncompleteReadError, StreamReader
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from gym_anything.errors import BadWire, Unreachable

VERSION = 2
LARGEST_TEXT, LARGEST_DATA = 64 << 20, 1 << 30
LARGEST_HELLO = 4096
_HEAD = struct.Struct(">II")
_ARRAY, _BYTES = "$array", "$bytes"


def encode(value: Any) -> bytes:
    """Return a message. Raises: BadWire for what cannot be sent."""
    data: list[bytes] = []
    try:
        text = json.dumps(_outward(value, data, [0]), ensure_ascii=False, allow_nan=True).encode(
            "utf-8", "surrogatepass"
        )
    except RecursionError:
        raise BadWire("a message that is nested too deeply, or contains itself") from None
    size = sum(map(len, data))
    if len(text) > LARGEST_TEXT or size > LARGEST_DATA:
        raise BadWire(f"a message of {len(text)} and {size} bytes; {LARGEST_TEXT} and {LARGEST_DATA} are the most")
    return b"".join([_HEAD.pack(len(text), size), text, *data])


def decode(text: bytes, data: bytes) -> Any:
    """Return what a message says; arrays are read-only views of ``data``. Raises: BadWire."""
    try:
        return _inward(json.loads(text.decode("utf-8", "surrogatepass")), memoryview(data))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise BadWire(f"a message that does not follow the protocol: {error}") from None


async def read(reader: StreamReader, *, hello: bool = False) -> Any:
    """Return the next message; None at the end. Raises: BadWire. ``hello``: from a stranger: a short one."""
    try:
        head = await reader.readexactly(_HEAD.size)
        text_size, data_size = _sizes(head, hello=hello)
        return decode(await reader.readexactly(text_size), await reader.readexactly(data_size))
    except (IncompleteReadError, ConnectionError):
        return None


def receive(sock: socket.socket) -> Any:
    """Return the next message of a blocking socket. Raises: BadWire, Unreachable at its end, TimeoutError."""
    text_size, data_size = _sizes(_exactly(sock, _HEAD.size), hello=False)
    return decode(_exactly(sock, text_size), _exactly(sock, data_size))


def _sizes(head: bytes, *, hello: bool) -> tuple[int, int]:
    text_size, data_size = _HEAD.unpack(head)
    if text_size > (LARGEST_HELLO if hello else LARGEST_TEXT) or data_size > (0 if hello else LARGEST_DATA):
        raise BadWire(f"a message of {text_size} and {data_size} bytes is too long")
    return text_size, data_size


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(1 << 20, size - len(data)))
        if not part:
            raise Unreachable("the pool has hung up")
        data += part
    return bytes(data)


def _outward(value: Any, data: list[bytes], size: list[int]) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise BadWire("an array of Python objects cannot be sent")
        return {_ARRAY: [_put(np.ascontiguousarray(value).tobytes(), data, size), value.dtype.str, list(value.shape)]}
    if isinstance(value, bytes | bytearray | memoryview):
        return {_BYTES: [_put(bytes(value), data, size), len(data[-1])]}
    if isinstance(value, Mapping):
        return {_key(key): _outward(item, data, size) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_outward(item, data, size) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    raise BadWire(f"a {type(value).__name__} cannot be sent to another process")


def _key(key: Any) -> str:
    if not isinstance(key, str) or key.startswith("$"):
        raise BadWire(f"{key!r} cannot be a key: keys are text that does not begin with $")
    return key


def _put(part: bytes, data: list[bytes], size: list[int]) -> int:
    offset = size[0]
    data.append(part)
    size[0] += len(part)
    return offset


def _inward(value: Any, data: memoryview) -> Any:
    if isinstance(value, list):
        return [_inward(item, data) for item in value]
    if not isinstance(value, dict):
        return value
    if _ARRAY in value:
        offset, dtype, shape = value[_ARRAY]
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        if kind.hasobject or count < 0 or offset < 0 or offset + count * kind.itemsize > len(data):
            raise ValueError("an array that is not in the data")
        return np.frombuffer(data, kind, count, offset).reshape(shape)
    if _BYTES in value:
        offset, length = value[_BYTES]
        if offset < 0 or length < 0 or offset + length > len(data):
            raise ValueError("bytes that are not in the data")
        return bytes(data[offset : offset + length])
    return {key: _inward(item, data) for key, item in value.items()}
