"""Another process's memory is read whole, or it is an error."""

from __future__ import annotations

import ctypes
import mmap
import os

import pytest

from gym_anything._util.process_memory import read_memory

pytestmark = pytest.mark.unit


def test_what_lies_there_is_read_and_no_more() -> None:
    with mmap.mmap(-1, 8 << 20) as memory:
        memory[:] = wanted = os.urandom(8 << 20)
        address = ctypes.addressof(there := ctypes.c_char.from_buffer(memory))
        buffer = bytearray(b"x" * (8 << 20))
        read_memory(os.getpid(), address, buffer, len(buffer) - 5)
        assert buffer[:-5] == wanted[:-5]
        assert buffer[-5:] == b"xxxxx"
        read_memory(os.getpid(), 0, buffer, 0)
        del there


def test_what_cannot_be_read_is_an_error() -> None:
    with pytest.raises(OSError, match="at 0x10"):
        read_memory(os.getpid(), 0x10, bytearray(16), 16)
    with pytest.raises(ProcessLookupError, match="999999999"):
        read_memory(999999999, 0x1000, bytearray(16), 16)
    with pytest.raises(ValueError, match="fit"):
        read_memory(os.getpid(), 0x1000, bytearray(16), 17)
