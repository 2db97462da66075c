"""A machine's desktop whose pictures QEMU sends by itself."""

from __future__ import annotations

import threading
import time
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.desktop.desktop import DesktopFrame
from gym_anything.runtime.desktop.lane import Lanes
from gym_anything.runtime.desktop.laned_desktop import FRAME_LIMIT_S
from gym_anything.runtime.qemu.dbus_display import DbusDisplay
from gym_anything.runtime.qemu.guest_desktop import GuestDesktop, MachineScreen, TcpLanes


class DbusDesktop(GuestDesktop):
    """Frames out of memory: the newest that QEMU has sent, at most one refresh of its (30 ms) behind the screen.

    A frame after an input is not taken from there: QEMU is asked, as without D-Bus, and what it had not sent by then
    is waited for before the next frame out of memory. So no frame is older than an acknowledged input, nor than a frame
    before it. The pointer is in the picture always: the machine's screen shows it.
    """

    def __init__(self, lanes: Lanes, screen: MachineScreen, display: DbusDisplay) -> None:
        """Use ``reach``."""
        super().__init__(lanes, screen)
        self._display = display
        self._state = threading.Lock()
        self._covered = 0
        self._behind = False
        self._picture = self._shown = 0

    @classmethod
    def reach(cls, port: int, screen: MachineScreen, display: DbusDisplay, *, token: bytes, deadline: Deadline) -> Self:
        """Connect, waiting until the service listens; as ``DesktopClient.connect``."""
        return cls(TcpLanes(port, token).reach(deadline), screen, display)

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """See ``Desktop``; without an input since the last frame it may be one refresh old."""
        acknowledged, deadline = self._acknowledged, deadline or Deadline.after(FRAME_LIMIT_S)
        if fresh and acknowledged > self._covered:
            frame = super().frame(fresh=True, deadline=deadline)
            with self._state:
                self._covered, self._behind = max(self._covered, acknowledged), True
            return frame
        self._lanes.check()
        with self._state:
            if self._behind:
                self._display.fence(deadline)
                self._behind = False
            at, after_input = time.monotonic(), self._covered
            array, picture = self._display.newest(deadline)
            number = next(self._numbers)
            if picture != self._shown:
                self._shown, self._picture = picture, number
            self._size = (array.shape[1], array.shape[0])
            return DesktopFrame(array, number, at, after_input, self._picture)

    def abort(self) -> None:
        """See ``Desktop``."""
        super().abort()
        self._display.abort()

    def close(self) -> None:
        """See ``Desktop``. QEMU is not listened to any more."""
        super().close()
        self._display.close()
