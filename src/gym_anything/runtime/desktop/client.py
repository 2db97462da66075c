"""The client of ``ga-desktop``: frames, input and settle of one X11 desktop, from this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import InputOp
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base_senses import SettleResult

Box = tuple[int, int, int, int]
"""x, y, width, height in guest pixels."""


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

    @classmethod
    def connect(cls, unix_path: str | Path, *, deadline: Deadline, token: bytes | None = None) -> Self:
        """Connect, waiting until the service listens.

        Args:
            unix_path: the service's socket.
            token: the secret that both sides prove to know, when the service was started with one (it never travels).
        Raises: Unreachable (nothing listens there before the deadline), Unauthorized, VersionSkew, WorldLost.
        """
        raise NotImplementedError

    @property
    def size(self) -> tuple[int, int]:
        """Return (width, height) of the screen in pixels, as of the last answer."""
        raise NotImplementedError

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> Frame:
        """Return the newest complete frame.

        Args:
            fresh: True: not older than this call (all that the X server had drawn when asked is in it). False: the
                newest that the service has, without asking the X server.
            pointer: draw the pointer into it.
        Returns: a frame whose ``array`` is a read-only view into shared memory; it does not change as long as the array,
            or a view made from it, lives (when too many are kept alive, later frames are copies). ``seq`` grows with
            every call; ``captured_at`` is the host's monotonic clock; ``after_input`` is the last acknowledged input.
        Raises: CaptureFailed, FrameStale, WorldLost, Aborted, DeadlineExceeded.
        """
        raise NotImplementedError

    def newest(self) -> Frame:
        """Return ``frame(fresh=False)``: what a recorder or a viewer wants."""
        raise NotImplementedError

    def send(self, ops: Sequence[InputOp], *, deadline: Deadline | None = None) -> InputAck:
        """Do the ops as one batch, in order, and return when the X server has processed it.

        All ops are checked before the first is done. A double click is pressed within the guest's time; a drag dwells as
        real applications need; text is typed exactly whatever the keyboard layout is.

        Raises:
            ActionError: nothing of the batch was done (a point off the screen, text no key can type …).
            InputNotDelivered: nothing of it was done; sending again is safe.
            InputDeliveryUnknown: it may have been done in part; ``detail`` says how far, when that is known.
            WorldLost, Aborted.
        """
        raise NotImplementedError

    def pointer(self, *, deadline: Deadline | None = None) -> tuple[int, int]:
        """Return where the X server says that the pointer is."""
        raise NotImplementedError

    def settle(
        self,
        quiet_ms: float = 100,
        max_ms: float = 2000,
        *,
        ignore: Sequence[Box] = (),
        deadline: Deadline | None = None,
    ) -> SettleResult:
        """Return once nothing has been drawn for ``quiet_ms``, or after ``max_ms``; the result says which.

        Args: ignore: boxes in which drawing does not count (a caret, a clock); at most 16.
        """
        raise NotImplementedError

    def release_held(self, *, deadline: Deadline | None = None) -> None:
        """Release every key and button held through any client, and give the keyboard map back as it was."""
        raise NotImplementedError

    def info(self) -> DesktopInfo:
        """Return what the service said of itself when we connected."""
        raise NotImplementedError

    def abort(self) -> None:
        """End every blocked call within a second with ``Aborted``; the client is of no use afterwards. Any thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Close; idempotent. Frames handed out stay valid."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
