"""What every client of a desktop service does the same way, wherever the service is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Box, InputOp
from gym_anything.errors import ActionError, DeadlineExceeded, FrameStale, InputDeliveryUnknown
from gym_anything.runtime.desktop.desktop import Desktop, DesktopFrame, DesktopInfo, InputAck
from gym_anything.runtime.desktop.lane import Lanes, Turn
from gym_anything.runtime.desktop.link import Answer
from gym_anything.runtime.desktop.wire import CONSTANTS, input_body, settle_body, settled_boxes
from gym_anything.runtime.runners.base_senses import SettleResult

FRAME_LIMIT_S = 20.0
INPUT_LIMIT_S = 20.0
_PER_BYTE_S, _PER_OP_S = 0.02, 6.0  # long text into a slow application, a drag that waits for it at both ends
_FRESH, _POINTER = CONSTANTS["FRAME_FRESH"], CONSTANTS["FRAME_POINTER"]


def input_limit_s(ops: Sequence[InputOp], size: int = 0) -> float:
    """Return how long a batch of input may take at most, in seconds. Args: size: of its message, in bytes."""
    return INPUT_LIMIT_S + _PER_BYTE_S * (size or len(input_body(ops))) + _PER_OP_S * len(ops)


class LanedDesktop(Desktop):
    """A desktop behind three lanes; how pictures travel is each client's own."""

    def __init__(self, lanes: Lanes) -> None:
        """Use what is open: its welcome says what the service is."""
        self._lanes = lanes
        self._acknowledged = 0
        features, spare_keys, width, height = lanes.input.welcome.fields[:4]
        vendor, _, note = lanes.input.welcome.tail.partition(b"\0")
        self._size = (width, height)
        self._info = DesktopInfo(
            shared_memory=bool(features & CONSTANTS["FEATURE_SHARED_MEMORY"]),
            note=note.decode(errors="replace"),
            spare_keys=spare_keys,
            server=vendor.decode(errors="replace"),
        )

    @property
    def size(self) -> tuple[int, int]:
        """See ``Desktop``."""
        return self._size

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """See ``Desktop``."""
        acknowledged = self._acknowledged
        flags = (_FRESH if fresh else 0) | (_POINTER if pointer else 0)
        with self._lanes.frames.turn(deadline or Deadline.after(FRAME_LIMIT_S)) as turn:
            frame = self._ask_frame(turn, flags)
        return self._not_stale(frame, acknowledged if fresh else 0)

    @abstractmethod
    def _ask_frame(self, turn: Turn, flags: int) -> DesktopFrame:
        """Ask for a frame and return it; notes the screen's size."""

    @staticmethod
    def _not_stale(frame: DesktopFrame, acknowledged: int) -> DesktopFrame:
        if frame.after_input < acknowledged:
            raise FrameStale(f"the frame follows input {frame.after_input}, {acknowledged} was acknowledged")
        return frame

    def newest(self) -> DesktopFrame:
        """See ``Desktop``."""
        return self.frame(fresh=False)

    def send(self, ops: Sequence[InputOp], *, deadline: Deadline | None = None) -> InputAck:
        """See ``Desktop``."""
        body = input_body(ops)
        try:
            with self._lanes.input.turn(deadline or Deadline.after(input_limit_s(ops, len(body)))) as turn:
                answer = turn.request("INPUT", body, "INPUT_ACK")
                number, x, y, chars_typed = answer.fields
                self._acknowledged = max(self._acknowledged, number)
        except DeadlineExceeded as error:
            raise InputDeliveryUnknown(f"the input was not acknowledged in time: {error}") from error
        except ActionError as error:
            width, height = self._size
            raise ActionError(f"{error} (the screen has {width} x {height} pixels)", detail=error.detail) from error
        return InputAck(number, (x, y), chars_typed)

    def pointer(self, *, deadline: Deadline | None = None) -> tuple[int, int]:
        """See ``Desktop``."""
        with self._lanes.input.turn(deadline or Deadline.after(INPUT_LIMIT_S)) as turn:
            x, y = turn.request("POINTER_REQUEST", b"", "POINTER").fields
        return x, y

    def settle(
        self,
        quiet_ms: float = 100,
        max_ms: float = 2000,
        *,
        ignore: Sequence[Box] = (),
        learn: bool = True,
        deadline: Deadline | None = None,
    ) -> SettleResult:
        """See ``Desktop``."""

        def body(left_ms: float) -> bytes:
            return settle_body(quiet_ms, left_ms, ignore, learn=learn)

        body(max_ms)  # what makes no sense is refused before anything is sent
        with self._lanes.settle.turn(deadline or Deadline.after(max_ms / 1000 + FRAME_LIMIT_S)) as turn:
            answer, before_ms = self._ask_settle(turn, body, max_ms)
        settled, waited_us = answer.fields
        return SettleResult(bool(settled), before_ms + waited_us / 1000, (*ignore, *settled_boxes(answer.tail)))

    def _ask_settle(self, turn: Turn, body: Callable[[float], bytes], max_ms: float) -> tuple[Answer, float]:
        """Return the answer, and how many milliseconds had passed before the question that it answers."""
        return turn.request("SETTLE", body(max_ms), "SETTLED"), 0.0

    def check_life(self, *, deadline: Deadline) -> None:
        """See ``Desktop``. Even a settle that waits for nothing has the X server asked, and frames are never long."""
        with self._lanes.frames.turn(deadline) as turn:
            turn.request("SETTLE", settle_body(0, 0, (), learn=False), "SETTLED")

    def release_held(self, *, deadline: Deadline | None = None) -> None:
        """See ``Desktop``."""
        with self._lanes.input.turn(deadline or Deadline.after(FRAME_LIMIT_S)) as turn:
            turn.request("RELEASE", b"", "RELEASED")

    def info(self) -> DesktopInfo:
        """See ``Desktop``."""
        return self._info

    def abort(self) -> None:
        """See ``Desktop``."""
        self._lanes.abort()

    def close(self) -> None:
        """See ``Desktop``."""
        self._lanes.close()
