"""The contract of a desktop's eyes and hands, wherever the desktop is: frames, input, settle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Box, InputOp
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base_senses import SettleResult


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


class Desktop(ABC):
    """One desktop's eyes and hands; ``DesktopClient`` has it on this host, ``FarDesktop`` on another.

    Safe to use from many threads: a frame never waits for another thread's typing or settling. A desktop service or X
    server that dies raises ``WorldLost`` in every blocked and every later call. ``abort`` ends every blocked call
    within a second with ``Aborted``. Keys and buttons held through this client are released when it goes, however
    it goes.
    """

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """Return (width, height) of the screen in pixels, as of the last answer."""

    @abstractmethod
    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """Return the newest complete frame.

        Args:
            fresh: True: not older than this call (all that the X server had drawn when asked is in it). False: the
                newest that the service has, without asking the X server.
            pointer: draw the pointer into it.
        Returns: a frame whose ``array`` is read-only and does not change as long as the array, or a view made from it,
            lives. ``seq`` grows with every call; ``captured_at`` is this host's monotonic clock; ``after_input`` is
            the last acknowledged input.
        Raises: CaptureFailed, FrameStale, WorldLost, Aborted, DeadlineExceeded.
        """

    @abstractmethod
    def newest(self) -> DesktopFrame:
        """Return ``frame(fresh=False)``: what a recorder or a viewer wants."""

    @abstractmethod
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

    @abstractmethod
    def pointer(self, *, deadline: Deadline | None = None) -> tuple[int, int]:
        """Return where the X server says that the pointer is."""

    @abstractmethod
    def settle(
        self,
        quiet_ms: float = 100,
        max_ms: float = 2000,
        *,
        ignore: Sequence[Box] = (),
        learn: bool = True,
        deadline: Deadline | None = None,
    ) -> SettleResult:
        """Return once nothing has been drawn for ``quiet_ms``, or after ``max_ms``; the result says which.

        Quiet counts only from when the application that got the last input has taken it (it answered a ping that came
        after it, or rests): on a busy machine a screen may be still because nothing has been read yet.

        Args:
            ignore: boxes in which drawing does not count; at most 16.
            learn: leave out, too, what is drawn again as it was, and small places that have been seen to go back and
                forth between two pictures (a caret) or to change once a second (a clock), in this settle or an earlier
                one. ``ignored`` of the result names those that did so meanwhile. Progress bars, spinners and videos
                count always.
        """

    def check_life(self, *, deadline: Deadline) -> None:
        """Return when the service and its X server answer; neither input nor a settle that is under way is waited for.

        Raises: WorldLost, Aborted, DeadlineExceeded.
        """
        self.settle(0, 0, learn=False, deadline=deadline)

    @abstractmethod
    def release_held(self, *, deadline: Deadline | None = None) -> None:
        """Release every key and button held through any client, and give the keyboard map back as it was."""

    @abstractmethod
    def info(self) -> DesktopInfo:
        """Return what the service said of itself when we connected."""

    @abstractmethod
    def abort(self) -> None:
        """End every blocked call within a second with ``Aborted``; the client is of no use afterwards. Any thread."""

    @abstractmethod
    def close(self) -> None:
        """Close; idempotent. Frames handed out stay valid."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
