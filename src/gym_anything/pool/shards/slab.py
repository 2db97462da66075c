"""Pixels between processes: memory that a shard writes and its pool reads, without a copy on the reader's side.

Each replica has one *slab*, a memory file. The results of an operation lie in it until the replica's next operation;
then the same place is written again. Whoever wants to keep an array longer copies it before.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_anything.errors import BadWire

Ref = list[Any]
"""``[offset, shape, dtype]`` of an array in a slab."""
_ALIGN = 64
_LEAST_BYTES = 1 << 16
_KINDS = "biufc"


class SlabWriter:
    """The shard's end. One thread at a time."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None
        self._at = 0
        self._fresh: int | None = None

    def begin(self) -> None:
        """Begin the results of the next operation: those of the last are given up."""
        self._at = 0

    def write(self, array: npt.NDArray[Any]) -> Ref | None:
        """Copy an array in and return where it lies; None when there is no room: ``grow``, and begin again.

        Raises: ValueError for an array of objects.
        """
        if array.dtype.kind not in _KINDS:
            raise ValueError(f"an array of {array.dtype} cannot lie in shared memory")
        at = -(-self._at // _ALIGN) * _ALIGN
        if self._memory is None or at + array.nbytes > len(self._memory):
            return None
        target = np.frombuffer(self._memory, array.dtype, array.size, at).reshape(array.shape)
        np.copyto(target, array)
        self._at = at + array.nbytes
        return [at, list(array.shape), array.dtype.str]

    def grow(self, needed: int) -> None:
        """Have a new slab of at least so many bytes; the old one lives as long as its reader looks at it."""
        size = max(_LEAST_BYTES, 1 << math.ceil(math.log2(needed + _ALIGN)))
        fd = os.memfd_create("gym-anything-slab", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._memory = mmap.mmap(fd, size)
        except BaseException:
            os.close(fd)
            raise
        self.close()
        self._fresh, self._at = fd, 0

    def take_fresh(self) -> int | None:
        """Return the descriptor of a slab that the reader does not have yet, once; the caller closes it."""
        fresh, self._fresh = self._fresh, None
        return fresh

    def close(self) -> None:
        """Close what nobody took. The memory goes with its last mapping."""
        fd = self.take_fresh()
        if fd is not None:
            os.close(fd)


class SlabReader:
    """The pool's end: read-only views."""

    def __init__(self, fd: int) -> None:
        """Map a slab and close its descriptor. Raises: BadWire when it could shrink under our feet."""
        try:
            seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
            if not seals & fcntl.F_SEAL_SHRINK:
                raise BadWire("a slab must be sealed against shrinking")
            self._memory = mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ)
        finally:
            os.close(fd)

    def view(self, ref: Ref) -> npt.NDArray[Any]:
        """Return the array at ``ref``, without a copy, read-only. Raises: BadWire for a place outside the slab."""
        try:
            offset, shape, dtype = ref
            return np.frombuffer(self._memory, np.dtype(dtype), math.prod(shape), offset).reshape(shape)
        except (TypeError, ValueError) as error:
            raise BadWire(f"{ref!r:.100} is no array in a slab of {len(self._memory)} bytes: {error}") from error
