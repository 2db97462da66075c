"""What passes between a started pool and who uses it."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_anything.errors import BadWire
from gym_anything.pool.started import wire

pytestmark = pytest.mark.unit


def over(message: bytes, *, hello: bool = False) -> Any:
    async def read() -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(message)
        reader.feed_eof()
        return await wire.read(reader, hello=hello)

    return asyncio.run(read())


def test_documents_arrays_and_bytes_arrive_as_they_were() -> None:
    frame = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    sent = {
        "screen": {"image": frame},
        "n": [1, 2.5, None, True, "ü\ud800"],
        "raw": b"\0\1",
        "path": Path("/a"),
        "x": (),
    }
    back = over(wire.encode(sent))
    assert np.array_equal(back["screen"]["image"], frame) and back["screen"]["image"].dtype == np.uint8
    assert not back["screen"]["image"].flags.writeable
    assert (back["n"], back["raw"], back["path"], back["x"]) == (sent["n"], b"\0\1", "/a", [])
    assert over(wire.encode([np.float32(1.5), np.zeros((0, 3)), np.asfortranarray(frame)]))[2][1, 3, 2] == 23


@pytest.mark.parametrize("value", [{"$array": 1}, {1: 2}, object(), np.array([object()]), {"a": {2}}])
def test_what_cannot_be_sent_is_refused(value: Any) -> None:
    with pytest.raises(BadWire):
        wire.encode(value)


def test_a_message_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(BadWire, match="nested"):
        wire.encode(value)


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"\xff",
        b'{"$array": [0, "|u1", [9]]}',
        b'{"$array": [-1, "|u1", [1]]}',
        b'{"$array": [0, "|O", [1]]}',
        b'{"$array": [0, "|u1", [-1]]}',
        b'{"$array": [0, "|u1", [4611686018427387904, 4]]}',
        b'{"$array": 3}',
        b'{"$bytes": [0, 99]}',
        b"[" * 100_000,
    ],
)
def test_what_does_not_follow_the_protocol_is_refused(text: bytes) -> None:
    with pytest.raises(BadWire):
        over(struct.pack(">II", len(text), 4) + text + b"data")


def test_a_message_may_not_be_too_long_and_a_strangers_only_short() -> None:
    with pytest.raises(BadWire, match="too long"):
        over(struct.pack(">II", wire.LARGEST_TEXT + 1, 0))
    with pytest.raises(BadWire, match="too long"):
        over(wire.encode("x" * wire.LARGEST_HELLO), hello=True)
    with pytest.raises(BadWire, match="too long"):
        over(wire.encode(b"x"), hello=True)
    assert over(wire.encode("x"), hello=True) == "x"


def test_an_end_in_the_middle_is_an_end() -> None:
    assert over(wire.encode("hello")[:-1]) is None and over(b"") is None
