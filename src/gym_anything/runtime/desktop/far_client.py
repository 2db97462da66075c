"""The client of ``ga-gate``: frames, input and settle of a desktop on another host, from this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.desktop.desktop import DesktopFrame
from gym_anything.runtime.desktop.far_address import FarAddress
from gym_anything.runtime.desktop.far_lane import FarLane, FarLanes
from gym_anything.runtime.desktop.far_link import FarLink
from gym_anything.runtime.desktop.far_picture import FarPicture, lz4_block
from gym_anything.runtime.desktop.far_wire import CONSTANTS, frame_body
from gym_anything.runtime.desktop.lane import Turn
from gym_anything.runtime.desktop.laned_desktop import FRAME_LIMIT_S, LanedDesktop
from gym_anything.runtime.desktop.link import Answer

_FRESH, _POINTER = CONSTANTS["FRAME_FRESH"], CONSTANTS["FRAME_POINTER"]
_WHOLE, _UNCHANGED = CONSTANTS["FRAME_WHOLE"], CONSTANTS["FRAME_UNCHANGED"]
_UNKNOWN = -1


class FarDesktop(LanedDesktop):
    """A desktop on another host, reached through the gate that runs beside its ``ga-desktop``.

    Only what has changed travels, packed without loss unless a quality is asked for. A connection that is cut is opened
    again, the session goes on, and no input is done twice. Beyond what ``Desktop`` says, calls raise ``Unreachable``
    (the gate has not answered for ten seconds, or until the deadline), ``SessionLost`` (it was started again, or we
    were away for too long: connect anew), ``Unauthorized``, ``VersionSkew`` and ``BadWire``; ``send`` raises
    ``InputDeliveryUnknown`` where it cannot be known whether an input was done, and never sends it again.
    """

    _lanes: FarLanes

    def __init__(self, lanes: FarLanes) -> None:
        """Use ``connect``."""
        super().__init__(lanes)
        assert isinstance(lanes.frames, FarLane)
        self._frames: FarLane = lanes.frames
        self._picture = FarPicture()

    @classmethod
    def connect(cls, address: FarAddress, *, deadline: Deadline) -> Self:
        """Connect, waiting until the gate listens.

        Raises: Unreachable (nothing listens there before the deadline), Unauthorized (token or certificate),
            VersionSkew, BadWire (no gate, or only one side speaks TLS), AdmissionRefused, WorldLost, MissingExtra;
            OSError (the file of authorities cannot be read).
        """
        lz4_block()  # said before anything is opened
        lanes = FarLanes(address)
        try:
            return cls(lanes.reach(deadline))
        except BaseException:
            lanes.close()
            raise

    def frame(
        self,
        *,
        fresh: bool = True,
        pointer: bool = False,
        deadline: Deadline | None = None,
        quality: int | None = None,
    ) -> DesktopFrame:
        """See ``Desktop``.

        Args:
            quality: None: exact pixels. 1 to 100: what has to be sent travels as JPEG of this quality; a later frame
                without it is exact again.
        """
        acknowledged = self._acknowledged
        flags = (_FRESH if fresh else 0) | (_POINTER if pointer else 0)
        with self._frames.turn(deadline or Deadline.after(FRAME_LIMIT_S)) as turn:
            frame = self._ask_frame(turn, flags, quality)
        return self._not_stale(frame, acknowledged if fresh else 0)

    def _ask_settle(self, turn: Turn, body: Callable[[float], bytes], max_ms: float) -> tuple[Answer, float]:
        """After a cut it is waited for quiet anew, for what is left of the time."""
        began, before_ms = time.monotonic(), 0.0

        def ask(link: FarLink) -> Answer:
            nonlocal before_ms
            before_ms = (time.monotonic() - began) * 1000
            return link.request("SETTLE", body(max(0.0, max_ms - before_ms)), "SETTLED", turn.deadline)

        lane = self._lanes.settle
        assert isinstance(lane, FarLane)
        return lane.attempt(ask, turn.deadline), before_ms

    def _ask_frame(self, turn: Turn, flags: int, quality: int | None = None) -> DesktopFrame:
        frame_body(flags, quality)  # what makes no sense is refused before anything is sent
        return self._frames.attempt(lambda link: self._take_frame(link, flags, quality, turn.deadline), turn.deadline)

    def _take_frame(self, link: FarLink, flags: int, quality: int | None, deadline: Deadline) -> DesktopFrame:
        """Ask over one connection. What the gate does not build on is not held any more."""
        picture, session = self._picture, self._frames.session
        if link.base != picture.number:
            picture.number = 0
        body = frame_body(flags if picture.number else flags | _WHOLE, quality)
        link.base = _UNKNOWN  # until the answer has come whole
        try:
            answer = link.request("FRAME_REQUEST", body, "FRAME", deadline)
            flags, age_us, seq, number, _, after_input, width, height = answer.fields
            captured_at = time.monotonic() - age_us / 1e6
            if flags & _UNCHANGED:
                picture.check_held(number)
            else:
                picture.begin(width, height, whole=bool(flags & _WHOLE))
                for rect in link.rects(number, deadline):
                    picture.put(rect)
                picture.finish(number)
        finally:
            session.picture = picture.number
        link.base = number
        self._size = (width, height)
        return DesktopFrame(picture.view(), seq, captured_at, after_input, number)
