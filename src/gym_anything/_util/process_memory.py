"""Reading another process's memory in one copy: half of what ``/proc/<pid>/mem`` costs.

Source: ``process_vm_readv(2)``.
"""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import Any


class _Part(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@lru_cache(maxsize=1)
def _readv() -> Any:
    function = ctypes.CDLL(None, use_errno=True).process_vm_readv
    function.restype = ctypes.c_ssize_t
    parts = ctypes.POINTER(_Part)
    function.argtypes = (ctypes.c_int, parts, ctypes.c_ulong, parts, ctypes.c_ulong, ctypes.c_ulong)
    return function


def read_memory(pid: int, address: int, buffer: bytearray, size: int) -> None:
    """Fill the first ``size`` bytes of a buffer with what a process has at an address. Others may run meanwhile.

    Raises: ValueError (more than the buffer holds); OSError (no such process, it may not be looked at, nothing there).
    """
    if not 0 <= size <= len(buffer):
        raise ValueError(f"{size} bytes do not fit into {len(buffer)}")
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer)) if size else 0
    done = 0
    while done < size:
        ours, theirs = _Part(start + done, size - done), _Part(address + done, size - done)
        count = _readv()(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
        if count <= 0:
            number = ctypes.get_errno() if count < 0 else 0
            raise OSError(number, f"{os.strerror(number)}: process {pid} at {address + done:#x}")
        done += count
