"""The machine's own screen: QMP ``screendump`` into memory that both sides hold, read without a file's name.

QEMU draws what the guest has changed before it writes, so a picture is never older than the question.
"""

from __future__ import annotations

import os
import re
import threading
import time

import numpy as np

from gym_anything._util.deadline import Deadline
from gym_anything.errors import CaptureFailed
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.qemu.qmp import QmpClient

_SET_ID = 7
_PATH = f"/dev/fdset/{_SET_ID}"
_HEADER = re.compile(rb"P6\s(?:#[^\n]*\n)*(\d{1,5})\s+(\d{1,5})\s+255\s")
_HEADER_BYTES = 64


class Screendump:
    """Takes pictures of one machine. Any thread; they take turns."""

    def __init__(self, qmp: QmpClient) -> None:
        """Prepare; the first picture hands the memory over."""
        self._qmp = qmp
        self._turn = threading.Lock()
        self._fds: tuple[int, int] | None = None
        self._closed = False

    def picture(self, deadline: Deadline) -> tuple[RgbArray, float]:
        """Return the screen as it is now, a copy of our own, and when it was asked for (monotonic clock).

        Raises: CaptureFailed for a picture that is none; WorldLost, Aborted, DeadlineExceeded.
        """
        with self._turn:
            if self._closed:
                raise CaptureFailed("this machine's screen is closed")
            reading, writing = self._memory(deadline)
            os.lseek(writing, 0, os.SEEK_SET)  # QEMU writes where the descriptor that we share stands
            at = time.monotonic()
            self._qmp.execute("screendump", {"filename": _PATH}, deadline=deadline)
            return read_ppm(reading), at

    def close(self) -> None:
        """Give the memory back; idempotent."""
        with self._turn:
            fds, self._fds, self._closed = self._fds, None, True
            for fd in fds or ():
                os.close(fd)

    def _memory(self, deadline: Deadline) -> tuple[int, int]:
        """Return the descriptors for reading and, shared with QEMU, for writing."""
        if self._fds is None:
            reading = os.memfd_create("gym-anything-screen", os.MFD_CLOEXEC)
            try:
                # QEMU asks for a descriptor that is open for writing alone, and takes no other.
                writing = os.open(f"/proc/self/fd/{reading}", os.O_WRONLY | os.O_CLOEXEC)
            except BaseException:
                os.close(reading)
                raise
            self._fds = (reading, writing)
            self._qmp.execute("add-fd", {"fdset-id": _SET_ID}, deadline=deadline, fds=[writing])
        return self._fds


def read_ppm(fd: int) -> RgbArray:
    """Return the picture of a binary PPM file. Raises: CaptureFailed when it is empty, torn or something else."""
    header = os.pread(fd, _HEADER_BYTES, 0)
    match = _HEADER.match(header)
    if match is None:
        raise CaptureFailed(f"QEMU wrote no picture but {header[:16]!r}")
    width, height = int(match.group(1)), int(match.group(2))
    pixels = np.empty((height, width, 3), np.uint8)
    view, at = pixels.data.cast("B"), match.end()
    done = 0
    while done < len(view):
        count = os.preadv(fd, [view[done:]], at + done)
        if count == 0:
            raise CaptureFailed(f"QEMU wrote {done} of {len(view)} bytes of a picture of {width} x {height}")
        done += count
    return pixels
