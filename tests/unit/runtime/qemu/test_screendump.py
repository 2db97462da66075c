"""Pictures out of QEMU's hands: whole, or an error that says what came."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gym_anything.errors import CaptureFailed
from gym_anything.runtime.qemu.screendump import read_ppm

pytestmark = pytest.mark.unit


@pytest.fixture
def memory() -> Iterator[int]:
    fd = os.memfd_create("test")
    yield fd
    os.close(fd)


def test_a_picture_is_read_whole(memory: int) -> None:
    pixels = bytes(range(18))
    os.write(memory, b"P6\n3 2\n255\n" + pixels)
    array = read_ppm(memory)
    assert array.shape == (2, 3, 3)
    assert array.tobytes() == pixels


def test_what_lies_behind_a_smaller_picture_is_no_part_of_it(memory: int) -> None:
    """After the guest made its screen smaller the old picture's end is still there."""
    os.write(memory, b"P6\n1 1\n255\n" + b"abc" + b"the rest of an older picture")
    assert read_ppm(memory).tobytes() == b"abc"


@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG\r\n", b"P6\n3 2\n255\n" + bytes(17), b"P6\n3 2\n65535\n" + bytes(36)]
)
def test_an_empty_or_torn_picture_is_an_error(memory: int, content: bytes) -> None:
    """S1: an empty, zero-size or torn frame is a typed error."""
    os.write(memory, content)
    with pytest.raises(CaptureFailed):
        read_ppm(memory)
