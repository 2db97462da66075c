"""The client of ``ga-desktop``: frames, input and settle of one X11 desktop, from this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import InputOp
from gym_anything.errors import (
    ActionError,
    CaptureFailed,
    DeadlineExceeded,
    FrameStale,
    InputDeliveryUnknown,
)
from gym_anything.observations.frame import Frame
from gym_anything.runtime.desktop.lane import Lanes
from gym_anything.runtime.desktop.link import Answer, close_all
from gym_anything.runtime.desktop.mapping import FrameMapping
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS, input_body, settle_body
from gym_anything.runtime.runners.base_senses import SettleResult

Box = tuple[int, int, int, int]
"""x, y, width, height in guest pixels."""

FRAME_LIMIT_S = 20.0
INPUT_LIMIT_S = 20.0
_PER_BYTE_S, _PER_OP_S = 0.02, 6.0  # long text into a slow application, a drag that waits for it at both ends
_FRESH, _POINTER = CONSTANTS["FRAME_FRESH"], CONSTANTS["FRAME_POINTER"]
_COPY, _NEW_MAPPING = CONSTANTS["FRAME_COPY"], CONSTANTS["FRAME_NEW_MAPPING"]
_FRAME_REQUEST = FIELDS["FRAME_REQUEST"]


@dataclass(frozen=True, slots=True, eq=False)
class DesktopFrame(Frame):
    """A frame of a desktop.

    Attributes:
        picture: frames with the same number show the same pixels, so an unchanged screen can be told without a look.
    """

    picture: int = 0


@dataclass(frozen=True, slots=True)
class InputAck:
    """What the X server had processed when it answered.

    Attributes:
        number: counts the acknowledged batches of this desktop from 1; ``Frame.after_input`` refers to it.
        pointer: where the server says that the pointer is, after the batch.
        chars_typed: characters of text typed by the batch.
    """

    number: int
    pointer: tuple[int, int]
    chars_typed: int = 0


@dataclass(frozen=True, slots=True)
class DesktopInfo:
    """What the service found: ``shared_memory`` False means the slow way of capturing, and ``note`` says why."""

    shared_memory: bool
    note: str
    spare_keys: int
    server: str


class DesktopClient:
    """One desktop's eyes and hands.

    Safe to use from many threads: a frame never waits for another thread's typing or settling. A desktop service or X
    server that dies raises ``WorldLost`` in every blocked and every later call. ``abort`` ends every blocked call
    within a second with ``Aborted``. Keys and buttons held through this client are released when it goes, however
    it goes.
    """

    def __init__(self, lanes: Lanes) -> None:
        """Use ``connect``."""
        self._lanes = lanes
        self._frames, self._input, self._settle = lanes.frames, lanes.input, lanes.settle
        self._mapping: FrameMapping | None = None
        self._acknowledged = 0
        features, spare_keys, width, height = lanes.input.welcome.fields
        vendor, _, note = lanes.input.welcome.tail.partition(b"\0")
        self._size = (width, height)
        self._info = DesktopInfo(
            shared_memory=bool(features & CONSTANTS["FEATURE_SHARED_MEMORY"]),
            note=note.decode(errors="replace"),
            spare_keys=spare_keys,
            server=vendor.decode(errors="replace"),
        )

    @classmethod
    def connect(cls, unix_path: str | Path, *, deadline: Deadline, token: bytes | None = None) -> Self:
        """Connect, waiting until the service listens.

        Args:
            unix_path: the service's socket.
            token: the secret that both sides prove to know, when the service was started with one (it never travels).
        Raises: Unreachable (nothing listens there before the deadline), Unauthorized, VersionSkew, WorldLost.
        """
        return cls(Lanes.open(Path(unix_path), token, deadline))

    @property
    def size(self) -> tuple[int, int]:
        """Return (width, height) of the screen in pixels, as of the last answer."""
        return self._size

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """Return the newest complete frame.

        Args:
            fresh: True: not older than this call (all that the X server had drawn when asked is in it). False: the
                newest that the service has, without asking the X server.
            pointer: draw the pointer into it.
        Returns: a frame whose ``array`` is a read-only view into shared memory; it does not change as long as the
            array, or a view made from it, lives (when too many are kept alive, later frames are copies). ``seq`` grows
            with every call; ``captured_at`` is the host's monotonic clock; ``after_input`` is the last acknowledged
            input.
        Raises: CaptureFailed, FrameStale, WorldLost, Aborted, DeadlineExceeded.
        """
        acknowledged = self._acknowledged
        body = _FRAME_REQUEST.pack((_FRESH if fresh else 0) | (_POINTER if pointer else 0))
        with self._frames.turn(deadline or Deadline.after(FRAME_LIMIT_S)) as turn:
            frame = self._frame_of(turn.request("FRAME_REQUEST", body, "FRAME"))
        if fresh and frame.after_input < acknowledged:
            raise FrameStale(f"the frame follows input {frame.after_input}, {acknowledged} was acknowledged")
        return frame

    def newest(self) -> DesktopFrame:
        """Return ``frame(fresh=False)``: what a recorder or a viewer wants."""
        return self.frame(fresh=False)

    def send(self, ops: Sequence[InputOp], *, deadline: Deadline | None = None) -> InputAck:
        """Do the ops as one batch, in order, and return when the X server has processed it.

        All ops are checked before the first is done. A double click is pressed within the guest's time; a drag dwells
        as real applications need; text is typed exactly whatever the keyboard layout is.

        Raises:
            ActionError: nothing of the batch was done (a point off the screen, text no key can type …).
            ActionUnsupported: nothing of it was done; this desktop has no such key.
            InputDeliveryUnknown: it may have been done in part; ``detail`` says how far, when that is known. After a
                missed deadline the service stops typing and releases what this client held.
            WorldLost, Aborted.
        """
        body = input_body(ops)
        limit_s = INPUT_LIMIT_S + _PER_BYTE_S * len(body) + _PER_OP_S * len(ops)
        try:
            with self._input.turn(deadline or Deadline.after(limit_s)) as turn:
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
        """Return where the X server says that the pointer is."""
        with self._input.turn(deadline or Deadline.after(INPUT_LIMIT_S)) as turn:
            x, y = turn.request("POINTER_REQUEST", b"", "POINTER").fields
        return x, y

    def settle(
        self,
        quiet_ms: float = 100,
        max_ms: float = 2000,
        *,
        ignore: Sequence[Box] = (),
        deadline: Deadline | None = None,
    ) -> SettleResult:
        """Return once nothing has been drawn for ``quiet_ms``, or after ``max_ms``; the result says which.

        Quiet counts only from when the application that got the last input has taken it (it answered a ping that came
        after it, or rests): on a busy machine a screen may be still because nothing has been read yet.

        Args: ignore: boxes in which drawing does not count (a caret, a clock); at most 16.
        """
        body = settle_body(quiet_ms, max_ms, ignore)
        with self._settle.turn(deadline or Deadline.after(max_ms / 1000 + FRAME_LIMIT_S)) as turn:
            settled, waited_us = turn.request("SETTLE", body, "SETTLED").fields
        return SettleResult(settled=bool(settled), waited_ms=waited_us / 1000)

    def release_held(self, *, deadline: Deadline | None = None) -> None:
        """Release every key and button held through any client, and give the keyboard map back as it was."""
        with self._input.turn(deadline or Deadline.after(FRAME_LIMIT_S)) as turn:
            turn.request("RELEASE", b"", "RELEASED")

    def info(self) -> DesktopInfo:
        """Return what the service said of itself when we connected."""
        return self._info

    def abort(self) -> None:
        """End every blocked call within a second with ``Aborted``; the client is of no use afterwards. Any thread."""
        self._lanes.abort()

    def close(self) -> None:
        """Close; idempotent. Frames handed out stay valid."""
        self._lanes.close()
        self._mapping = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _frame_of(self, answer: Answer) -> DesktopFrame:
        flags, slot, seq, picture, captured_at_ns, after_input, width, height = answer.fields
        if flags & _NEW_MAPPING:
            self._mapping = self._map(answer.fds)
        mapping = self._mapping
        if mapping is None or (width, height) != (mapping.width, mapping.height) or slot >= CONSTANTS["SLOTS"]:
            raise CaptureFailed(f"the desktop service gave frame {seq} without its memory")
        self._size = (width, height)
        return DesktopFrame(
            mapping.array(slot, keep=not flags & _COPY), seq, captured_at_ns / 1e9, after_input, picture
        )

    @staticmethod
    def _map(fds: list[int]) -> FrameMapping:
        try:
            if len(fds) != 2:
                raise CaptureFailed("the desktop service sent no frame memory")
            return FrameMapping(*fds)
        except OSError as error:
            raise CaptureFailed(f"the frame memory cannot be mapped: {error}") from error
        finally:
            close_all(fds)
