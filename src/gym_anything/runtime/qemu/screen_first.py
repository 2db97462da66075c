"""A desktop whose eyes are there at once, and its hands a moment later.

A machine that has just woken shows its screen without doing anything. Its services, asked for hands, have to run for a
tenth of a second first, emulated. So nobody who only looks waits for them, and whoever acts waits for the rest.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.actions.model import Box, InputOp
from gym_anything.errors import Aborted, StateError
from gym_anything.runtime.desktop.desktop import Desktop, DesktopFrame, DesktopInfo, InputAck
from gym_anything.runtime.desktop.laned_desktop import FRAME_LIMIT_S
from gym_anything.runtime.qemu.guest_desktop import MachineScreen
from gym_anything.runtime.qemu.turns import PATIENCE_S
from gym_anything.runtime.runners.base_senses import SettleResult

_AWAITED = "the desktop's hands"
_HANDS_S = PATIENCE_S + 30.0
"""How long whoever acts first waits for the hands: until it is this machine's turn, and they are connected."""


class ScreenFirst(Desktop):
    """Pictures from the machine's screen; all else by another desktop of the same machine, once that is connected."""

    def __init__(self, screen: MachineScreen, connect: Callable[[], Desktop]) -> None:
        """Nothing is connected yet. Args: connect: returns the desktop with the hands; called once, by a thread."""
        self._screen = screen
        self._numbers = itertools.count(1)
        self._acknowledged = 0
        self._size: tuple[int, int] | None = None
        self._rest: Desktop | None = None
        self._error: BaseException | None = None
        self._over: type[StateError] | None = None
        self._thread = threading.Thread(target=self._connect, args=(connect,), name="qemu-hands", daemon=True)
        self._lock = threading.Lock()
        self._begun = False
        self._after_first: list[Callable[[], object]] = []

    @property
    def has_begun(self) -> bool:
        """True once it has begun to connect."""
        return self._begun

    def begin(self) -> None:
        """Begin to connect, for those who will act soon. Idempotent."""
        with self._lock:
            if not self._begun and self._over is None:
                self._begun = True
                self._thread.start()

    def _connect(self, connect: Callable[[], Desktop]) -> None:
        try:
            self._rest = connect()
        except BaseException as error:  # noqa: BLE001 - the boundary of the thread: raised where hands are needed
            self._error = error

    def after_first_frame(self, act: Callable[[], object]) -> None:
        """Have something done once somebody has seen the screen, by that thread: what need not delay the first look."""
        self._after_first.append(act)

    def _seen(self) -> None:
        with self._lock:
            acts, self._after_first = self._after_first, []
        for act in acts:
            act()

    def hands(self, deadline: Deadline) -> Desktop:
        """Return the desktop with the hands, waited for. Raises: why there is none; DeadlineExceeded, Aborted."""
        self._check()
        self.begin()
        self._thread.join(deadline.remaining_or_none())
        self._check()
        if self._error is not None:
            raise self._error
        if self._rest is None:
            raise expired_error(_AWAITED)
        return self._rest

    @property
    def size(self) -> tuple[int, int]:
        """See ``Desktop``."""
        if self._size is None:
            self.frame()
        assert self._size is not None
        return self._size

    def frame(self, *, fresh: bool = True, pointer: bool = False, deadline: Deadline | None = None) -> DesktopFrame:
        """See ``Desktop``. The pointer is in the picture always: the machine's screen shows it."""
        acknowledged = self._acknowledged
        self._check()
        array, at = self._screen.picture(deadline or Deadline.after(FRAME_LIMIT_S))
        number = next(self._numbers)
        self._size = (array.shape[1], array.shape[0])
        if self._after_first:
            self._seen()
        return DesktopFrame(array, number, at, acknowledged, number)

    def newest(self) -> DesktopFrame:
        """See ``Desktop``."""
        return self.frame(fresh=False)

    def send(self, ops: Sequence[InputOp], *, deadline: Deadline | None = None) -> InputAck:
        """See ``Desktop``."""
        ack = self.hands(deadline or Deadline.after(_HANDS_S)).send(ops, deadline=deadline)
        self._acknowledged = max(self._acknowledged, ack.number)
        return ack

    def pointer(self, *, deadline: Deadline | None = None) -> tuple[int, int]:
        """See ``Desktop``."""
        return self.hands(deadline or Deadline.after(_HANDS_S)).pointer(deadline=deadline)

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
        rest = self.hands(deadline or Deadline.after(_HANDS_S))
        return rest.settle(quiet_ms, max_ms, ignore=ignore, learn=learn, deadline=deadline)

    def check_life(self, *, deadline: Deadline) -> None:
        """See ``Desktop``. Hands that are not connected yet are not waited for: that may take long, and is no sign."""
        self._check()
        if self._error is not None:
            raise self._error
        if self._rest is not None:
            self._rest.check_life(deadline=deadline)

    def release_held(self, *, deadline: Deadline | None = None) -> None:
        """See ``Desktop``."""
        self.hands(deadline or Deadline.after(_HANDS_S)).release_held(deadline=deadline)

    def info(self) -> DesktopInfo:
        """See ``Desktop``."""
        return self.hands(Deadline.after(_HANDS_S)).info()

    def abort(self) -> None:
        """See ``Desktop``."""
        with self._lock:
            self._over = Aborted
        rest = self._rest
        if rest is not None:
            rest.abort()

    def close(self) -> None:
        """See ``Desktop``. Waits for a connection that is just being made: none is open afterwards."""
        with self._lock:
            self._over = self._over or StateError
            begun = self._begun
        if begun:
            self._thread.join()
        if self._rest is not None:
            self._rest.close()
        self._error = None  # it holds the frames that it went through

    def _check(self) -> None:
        if self._over is not None:
            raise self._over("the desktop client was " + ("aborted" if self._over is Aborted else "closed"))
