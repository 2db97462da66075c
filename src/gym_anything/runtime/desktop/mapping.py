"""Frames in memory shared with the desktop service: views without a copy, each keeping its slot until it is gone."""

from __future__ import annotations

import fcntl
import mmap
import os
import weakref
from collections import deque
from functools import partial

import numpy as np

from gym_anything.errors import BadWire, CaptureFailed
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS

_LEASE_PAGE = 4096
_READ_TRIES = 1000
# A watch is needed as long as its view lives, which can be longer than anybody else knows the mapping.
_watches: dict[tuple[int, int], weakref.ref[RgbArray]] = {}


class FrameMapping:
    """The mapping of one screen size, read-only, and the page in which we say which slots we keep.

    A view keeps its slot as long as the array, or anything made from it, lives; the mapping lives as long as its views.
    """

    def __init__(self, frames_fd: int, leases_fd: int) -> None:
        """Map both descriptors; they stay the caller's to close. Raises: BadWire, OSError."""
        _check_sealed(frames_fd, FIELDS["MAPPING"].size)
        _check_sealed(leases_fd, _LEASE_PAGE)
        self._memory = mmap.mmap(frames_fd, 0, prot=mmap.PROT_READ)
        self._leases = mmap.mmap(leases_fd, _LEASE_PAGE)
        fields = FIELDS["MAPPING"].unpack_from(self._memory)
        magic, version, self.generation, self.width, self.height, stride, slots, self._slots_at = fields[:8]
        self._pixels_at, self._slot_bytes = fields[8:10]
        fits = (
            self._pixels_at + slots * self._slot_bytes <= len(self._memory) and self._slot_bytes >= stride * self.height
        )
        if magic != CONSTANTS["MAGIC"] or version != CONSTANTS["VERSION"] or stride != 3 * self.width or not fits:
            raise BadWire("the desktop service's frame memory has another layout than this version knows")
        self._newest_at = FIELDS["MAPPING"].size - 8
        self._shape = (self.height, self.width, 3)
        self._free = deque(range(CONSTANTS["LEASES"]))
        self._owner_pid = os.getpid()

    def array(self, slot: int, *, keep: bool) -> RgbArray:
        """Return the frame in a slot that we were granted: a view that keeps the slot, or a copy."""
        view: RgbArray = np.ndarray(
            self._shape, np.uint8, buffer=self._memory, offset=self._pixels_at + slot * self._slot_bytes
        )
        if not keep or not self._free:
            return view.copy()
        lease = self._free.popleft()
        self._leases[lease] = slot + 1
        _watches[id(self), lease] = weakref.ref(view, partial(self._give_back, lease))
        return view

    def kept_slots(self) -> set[int]:
        """Return the slots that views keep at present."""
        return {value - 1 for value in self._leases[: CONSTANTS["LEASES"]] if value}

    def read_newest(self) -> tuple[RgbArray, int]:
        """Return a copy of the newest frame and its picture number without asking the service (seqlock).

        Raises: CaptureFailed when the service writes faster than a copy can be made, again and again.
        """
        for _ in range(_READ_TRIES):
            slot = int.from_bytes(self._memory[self._newest_at : self._newest_at + 4], "little")
            before, picture, _, _ = self._slot(slot)
            if before % 2:
                continue
            copy = self.array(slot, keep=False)
            if self._slot(slot)[0] == before:
                return copy, picture
        raise CaptureFailed(f"no whole frame in {_READ_TRIES} tries")

    def _slot(self, slot: int) -> tuple[int, int, int, int]:
        lock, picture, captured_at_ns, after_input = FIELDS["SLOT"].unpack_from(
            self._memory, self._slots_at + slot * FIELDS["SLOT"].size
        )
        return lock, picture, captured_at_ns, after_input

    def _give_back(self, lease: int, _: object) -> None:
        # Runs wherever the last reference dies, in any thread: each step is one operation. A forked child has copies of
        # the views, but the slots are its parent's to give back.
        if os.getpid() != self._owner_pid:
            return
        self._leases[lease] = 0
        _watches.pop((id(self), lease), None)
        self._free.append(lease)


def _check_sealed(fd: int, least_bytes: int) -> None:
    """Refuse memory that could shrink under us: a read beyond its end kills the reader's whole process.

    Whoever took the service over inside a world can send what it likes.
    """
    try:
        sealed = fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
    except OSError:
        sealed = 0  # not memory at all
    if not sealed or os.fstat(fd).st_size < least_bytes:
        raise BadWire("the desktop service shares frames in something other than sealed memory")
