"""A machine's desktop whose own service writes what changed into memory that we share with the machine."""

from __future__ import annotations

import contextlib
import mmap
import time
from typing import Protocol, Self

import numpy as np

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import BadWire, CaptureFailed, GymAnythingError
from gym_anything.runtime.desktop.desktop import DesktopFrame
from gym_anything.runtime.desktop.lane import Lanes, Turn
from gym_anything.runtime.desktop.laned_desktop import LanedDesktop
from gym_anything.runtime.desktop.link import Answer
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS
from gym_anything.runtime.qemu.guest_desktop import GuestDesktop, MachineScreen, TcpLanes
from gym_anything.runtime.qemu.painting import BgrxArray, Painting, paint

_REGION = CONSTANTS["FRAME_REGION"]
_REQUEST, _READY_POLL_S = FIELDS["FRAME_REQUEST"], 0.002
_DETACH_S, _UNPLUG_S = 5.0, 10.0
_BOX, _HEAD = FIELDS["REGION_BOX"], FIELDS["REGION_HEAD"]
_BGRX = (4, 0xFF0000, 0x00FF00, 0x0000FF)
_MAX_SIDE = 1 << 15


class Region(Protocol):
    """Where the service writes: ``SharedRegion``, or a file in a test."""

    def plug(self, deadline: Deadline) -> mmap.mmap:
        """Return the memory; whoever writes may see it a little later."""

    def unplug(self, deadline: Deadline) -> None:
        """Take it away; idempotent."""


class RegionDesktop(GuestDesktop):
    """Frames from the service in the guest: exactly what its X server had drawn, without the pointer.

    The service is told of one region, which belongs to our connection for frames; ``close`` takes it out of the
    machine. With ``pointer`` a frame comes from QEMU, whose screen always shows it.
    """

    def __init__(self, lanes: Lanes, screen: MachineScreen, region: Region) -> None:
        """Use ``connect``."""
        super().__init__(lanes, screen)
        self._region = region
        self._memory: mmap.mmap | None = None
        self._attached: Answer | None = None
        self._painting = Painting()

    @classmethod
    def reach(cls, port: int, screen: MachineScreen, region: Region, *, token: bytes, deadline: Deadline) -> Self:
        """Plug the region in, connect meanwhile, waiting until the service listens; as ``DesktopClient.connect``.

        Raises: CaptureFailed, too, when this QEMU has no such device.
        """
        memory = region.plug(deadline)  # the guest finds it while we connect
        try:
            desktop = cls(TcpLanes(port, token).reach(deadline), screen, region)
        except BaseException:
            with contextlib.suppress(GymAnythingError):  # the first error is the one to tell
                region.unplug(Deadline.after(_UNPLUG_S))
            raise
        desktop._memory = memory
        return desktop

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """See ``Desktop``."""
        if pointer:
            return super().frame(fresh=fresh, pointer=True, deadline=deadline)
        return LanedDesktop.frame(self, fresh=fresh, deadline=deadline)

    def close(self) -> None:
        """Close; idempotent. The region is taken out of a machine that goes on, so that it can be saved."""
        if self._memory is not None:
            self._unplug()
        super().close()

    def _ask_frame(self, turn: Turn, flags: int) -> DesktopFrame:
        if self._attached is not self._lanes.frames.welcome:  # a new connection has no region yet
            self._attach(turn)
        at = time.monotonic()
        try:
            answer = turn.request("FRAME_REQUEST", _REQUEST.pack(flags | _REGION), "FRAME")
            _, _, _, _, _, after_input, width, height = answer.fields
            self._take(answer, width, height)
        except BaseException:
            self._attached = None  # what is held may be anything: begin anew
            raise
        self._size = (width, height)
        return DesktopFrame(self._painting.view(), next(self._numbers), at, after_input, self._painting.picture)

    def _attach(self, turn: Turn) -> None:
        """Plug the region in, and wait until the guest has it."""
        self._attached, self._memory = None, self._region.plug(turn.deadline)
        self._painting.forget()
        ready: list[tuple[int, ...]] = []

        def attached() -> bool:
            ready[:] = [turn.request("REGION", FIELDS["REGION"].pack(1), "REGION_READY").fields]
            return ready[0][0] > 0

        wait_until(attached, deadline=turn.deadline, awaited="the guest to see the shared region", poll_s=_READY_POLL_S)
        if ready[0] != (len(self._memory), *_BGRX):
            raise CaptureFailed(
                f"the guest's screen or its shared region is of another kind than we read: {ready[0]}",
                detail={"guest": list(ready[0]), "wanted": [len(self._memory), *_BGRX]},
            )
        self._attached = self._lanes.frames.welcome

    def _take(self, answer: Answer, width: int, height: int) -> None:
        """Paint what has changed. Raises: BadWire for what cannot be; CaptureFailed for what was written meanwhile."""
        boxes = self._boxes(answer.tail, width, height)
        whole = sum(box[2] * box[3] for box in boxes) >= width * height
        if not whole and self._painting.size != (width, height):
            raise BadWire("the desktop service sent what changed in a picture that is not held")
        if not boxes:
            return
        lock = self._lock()
        target = self._painting.begin(width, height)
        for x, y, box_width, box_height, offset in boxes:
            paint(target, x, y, self._pixels(offset, box_width, box_height))
        if lock % 2 or self._lock() != lock:
            raise CaptureFailed("somebody else wrote into the shared region meanwhile")

    def _boxes(self, tail: bytes, width: int, height: int) -> list[tuple[int, int, int, int, int]]:
        if len(tail) % _BOX.size or not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
            raise BadWire("the desktop service sent a FRAME with something else than boxes behind it")
        assert self._memory is not None
        boxes = list(_BOX.iter_unpack(tail))
        for x, y, box_width, box_height, offset in boxes:
            inside = x + box_width <= width and y + box_height <= height
            if not inside or offset + 4 * box_width * box_height > len(self._memory):
                raise BadWire("the desktop service sent a box that lies outside the screen or the shared region")
        return boxes

    def _pixels(self, offset: int, width: int, height: int) -> BgrxArray:
        return np.ndarray((height, width, 4), np.uint8, buffer=self._memory, offset=offset)

    def _lock(self) -> int:
        assert self._memory is not None
        return int(_HEAD.unpack_from(self._memory)[2])

    def _unplug(self) -> None:
        # A machine that is gone has nothing to unplug, a service that is gone has let go of it; a machine that goes on
        # and did not let go refuses aloud to be saved.
        with contextlib.suppress(GymAnythingError):
            if self._attached is self._lanes.frames.welcome:
                with self._lanes.frames.turn(Deadline.after(_DETACH_S)) as turn:
                    turn.request("REGION", FIELDS["REGION"].pack(0), "REGION_READY")
        with contextlib.suppress(GymAnythingError):
            self._region.unplug(Deadline.after(_UNPLUG_S))
        self._attached = self._memory = None
