"""Eyes and hands of a machine's desktop: pictures from QEMU; input, settle by ``ga-desktop`` over a forwarded port."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Sequence
from typing import Protocol, Self

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import InputOp
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.desktop import DesktopFrame, InputAck
from gym_anything.runtime.desktop.lane import Lane, Lanes, Turn
from gym_anything.runtime.desktop.laned_desktop import FRAME_LIMIT_S, LanedDesktop, input_limit_s
from gym_anything.runtime.desktop.link import Link
from gym_anything.runtime.desktop.wire import elsewhere_body

_LOOPBACK = "127.0.0.1"


class TcpLanes(Lanes):
    """The lanes to a desktop service behind a port of 127.0.0.1."""

    def __init__(self, port: int, token: bytes) -> None:
        super().__init__(f"the desktop service behind port {port}", token)
        self.port = port

    def new_lane(self, role: str) -> Lane:
        """See ``Lanes``."""
        return TcpLane(self, role)


class TcpLane(Lane):
    """One role's connection."""

    _lanes: TcpLanes

    def _new_link(self) -> Link:
        return TcpLink(socket.socket(socket.AF_INET, socket.SOCK_STREAM), self._role)

    def _open_link(self, link: Link, deadline: Deadline) -> None:
        assert isinstance(link, TcpLink)
        link.connect_port(self._lanes.port, deadline)
        link.open(self._lanes.token, deadline)


class TcpLink(Link):
    """A link over TCP."""

    def connect_port(self, port: int, deadline: Deadline) -> None:
        """Connect the socket. Raises: OSError."""
        self._socket.settimeout(deadline.remaining_or_none())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.connect((_LOOPBACK, port))


class MachineScreen(Protocol):
    """The machine's own screen, as ``Screendump`` sees it."""

    def picture(self, deadline: Deadline) -> tuple[RgbArray, float]:
        """Return it as it is now, the caller's own, and when it was asked for (monotonic clock)."""


class MachineHands(Protocol):
    """Hands of the machine's own, as ``FastHands``."""

    def do(self, ops: Sequence[InputOp], deadline: Deadline) -> tuple[tuple[int, int], int]:
        """Do the ops; return where the pointer is then, and how many characters were typed."""

    def release(self, deadline: Deadline) -> None:
        """Release every key and button that is held."""

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""

    def close(self) -> None:
        """Close; idempotent."""


class GuestDesktop(LanedDesktop):
    """A machine's desktop. A frame's array is the caller's own; equal pictures are not told apart."""

    def __init__(self, lanes: Lanes, screen: MachineScreen) -> None:
        """Use ``connect``."""
        super().__init__(lanes)
        self._screen = screen
        self._numbers = itertools.count(1)
        self._hands: MachineHands | None = None
        self._played = False

    @classmethod
    def connect(cls, port: int, screen: MachineScreen, *, token: bytes, deadline: Deadline) -> Self:
        """Connect, waiting until the service listens; as ``DesktopClient.connect``."""
        return cls(TcpLanes(port, token).reach(deadline), screen)

    def take_hands(self, hands: MachineHands) -> None:
        """Let input go another way than through the service from now on."""
        self._hands = hands

    def send(self, ops: Sequence[InputOp], *, deadline: Deadline | None = None) -> InputAck:
        """See ``Desktop``."""
        self._played = True
        if self._hands is None:
            return super().send(ops, deadline=deadline)
        pointer, typed = self._hands.do(ops, deadline or Deadline.after(input_limit_s(ops)))
        self._acknowledged += 1
        return InputAck(self._acknowledged, pointer, typed)

    def send_by_service(self, ops: Sequence[InputOp], deadline: Deadline) -> InputAck:
        """Do the ops by the service's own hands, whatever hands there are."""
        return super().send(ops, deadline=deadline)

    def tell_of_input(self, kinds: int, deadline: Deadline) -> tuple[int, int]:
        """Tell the service of input by other hands; return where the pointer is once the X server has done what came.

        Args: kinds: ``ELSEWHERE_*`` of the protocol together.
        """
        with self._lanes.input.turn(deadline) as turn:
            _, x, y, _ = turn.request("INPUT", elsewhere_body(kinds), "INPUT_ACK").fields
        return x, y

    def release_held(self, *, deadline: Deadline | None = None) -> None:
        """See ``Desktop``. Nothing is asked of a machine that was sent nothing since the last time."""
        self._lanes.check()
        if not self._played:
            return
        self._played = False
        try:
            super().release_held(deadline=deadline)
            if self._hands is not None:
                self._hands.release(deadline or Deadline.after(FRAME_LIMIT_S))
        except BaseException:
            self._played = True
            raise

    def abort(self) -> None:
        """See ``Desktop``."""
        super().abort()
        if self._hands is not None:
            self._hands.abort()

    def close(self) -> None:
        """See ``Desktop``. Its hands go with it."""
        super().close()
        if self._hands is not None:
            self._hands.close()

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """See ``Desktop``. The pointer is in the picture always: the machine's screen shows it."""
        acknowledged = self._acknowledged
        self._lanes.check()
        array, at = self._screen.picture(deadline or Deadline.after(FRAME_LIMIT_S))
        number = next(self._numbers)
        self._size = (array.shape[1], array.shape[0])
        return DesktopFrame(array, number, at, acknowledged, number)

    def _ask_frame(self, turn: Turn, flags: int) -> DesktopFrame:
        raise NotImplementedError("a machine's pictures come from QEMU")
