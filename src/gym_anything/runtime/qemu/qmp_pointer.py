"""The machine's tablet moved from outside by QMP ``input-send-event``, each event seen to arrive before the next."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Button, Buttons, Click, Drag, InputOp, Move, Scroll
from gym_anything.errors import DeadlineExceeded, InputDeliveryUnknown, InputNotDelivered
from gym_anything.runtime.qemu.fast_keyboard import PointerState
from gym_anything.runtime.qemu.qmp import QmpClient

SCALE = 32768
"""What the width, or the height, of the screen is on the tablet's own scale."""
DEBOUNCE_S = 0.030
"""A press sooner than this after the last release of the same button may be taken for a worn contact and swallowed.
Source: libinput, "Button debouncing"; measured 25 to 30 ms."""
_ARRIVES_S = 20.0  # a machine may get little of its host's processors
_BITS: dict[Button, int] = {"left": 0, "middle": 1, "right": 2}
# The drag of ga-desktop's hand (gesture.c): some pixels to take hold, then steps that a toolkit follows.
_TAKE_HOLD_PX, _TAKE_HOLD_STEPS, _STEP_PX, _STEPS = 16.0, 4, 24.0, (8, 60)


class Witness(Protocol):
    """Somebody in the machine who sees what its tablet says."""

    def pointer(self, deadline: Deadline | None = None) -> PointerState:
        """Return what it said last, once the display server has read that."""


def place(pixel: int, pixels: int) -> int:
    """Return where the middle of a pixel is on the tablet's scale."""
    return (2 * pixel + 1) * SCALE // (2 * pixels)


class QmpPointer:
    """One machine's tablet. One thread at a time."""

    def __init__(
        self,
        qmp: QmpClient,
        witness: Witness,
        size: Callable[[], tuple[int, int]],
        catch_up: Callable[[], object],
        before_press: Callable[[], object],
    ) -> None:
        """Args:
        size: the screen's.
        catch_up: waits until whoever is under the pointer has done what it was sent.
        before_press: waits until the press before has been passed on.
        """
        self._qmp = qmp
        self._witness = witness
        self._size = size
        self._catch_up = catch_up
        self._before_press = before_press
        self._state: PointerState | None = None
        self._released: dict[Button, float] = {}
        self.at: tuple[int, int] | None = None

    def do(self, op: InputOp, deadline: Deadline) -> None:
        """Do one op of a pointer.

        Raises: InputDeliveryUnknown when the machine does not take an event; WorldError, WorldLost, Aborted.
        """
        match op:
            case Move(x, y):
                self._move(x, y, deadline)
            case Click(button, x, y, count):
                self._move(x, y, deadline)
                for _ in range(count):
                    self._press(button, True, deadline)
                    self._press(button, False, deadline)
            case Drag(button, start, end):
                self._drag(button, start, end, deadline)
            case Buttons(changes):
                for button, down in changes:
                    self._press(button, down, deadline)
            case Scroll(_, dy):
                self._scroll(dy, deadline)

    def release(self, deadline: Deadline) -> None:
        """Release every button that is held."""
        for button, bit in _BITS.items():
            if self._now(deadline).buttons >> bit & 1:
                self._press(button, False, deadline)

    def _now(self, deadline: Deadline) -> PointerState:
        if self._state is None:
            self._state = self._witness.pointer(deadline)
        return self._state

    def _move(self, x: int, y: int, deadline: Deadline) -> None:
        width, height = self._size()
        self.at = (x, y)
        self._send_place(place(x, width), place(y, height), deadline)

    def _send_place(self, x: int, y: int, deadline: Deadline) -> None:
        events = [_axis("x", x), _axis("y", y)]
        self._send(events, PointerState(x, y, self._now(deadline).buttons), deadline)

    def _press(self, button: Button, down: bool, deadline: Deadline) -> None:
        before, bit = self._now(deadline), 1 << _BITS[button]
        if bool(before.buttons & bit) == down:
            return
        if down:
            self._wait_for_contact(button, deadline)
            self._before_press()
        buttons = before.buttons | bit if down else before.buttons & ~bit
        self._send([_button(button, down)], PointerState(before.x, before.y, buttons), deadline)
        if not down:
            self._released[button] = time.monotonic()

    def _wait_for_contact(self, button: Button, deadline: Deadline) -> None:
        """Let the time pass in which a press would be taken for a worn contact; the machine has seen the release."""
        ready = self._released.get(button, 0.0) + DEBOUNCE_S

        def passed() -> bool:
            return time.monotonic() >= ready

        wait_until(passed, deadline=deadline, awaited="the button's rest between two presses", poll_s=0.002)

    def _scroll(self, clicks: int, deadline: Deadline) -> None:
        """Turn the wheel, of which nothing can be seen: a motion within the pixel follows, which can."""
        name = "wheel-down" if clicks > 0 else "wheel-up"
        for _ in range(abs(clicks)):
            state = self._now(deadline)
            x = state.x + (1 if state.x % 2 == 0 else -1)
            self._command([_button(name, True)], deadline)
            self._command([_button(name, False)], deadline)
            self._send_place(x, state.y, deadline)

    def _drag(self, button: Button, start: tuple[int, int], end: tuple[int, int], deadline: Deadline) -> None:
        self._move(*start, deadline)
        self._press(button, True, deadline)
        try:
            self._catch_up()
            for x, y, rests in drag_path(start, end):
                self._move(x, y, deadline)
                if rests:
                    self._catch_up()
        finally:
            self._press(button, False, deadline)

    def _send(self, events: list[dict[str, Any]], expected: PointerState, deadline: Deadline) -> None:
        """Send events and wait until the machine has them. Raises: InputDeliveryUnknown."""
        self._state = None  # unknown until it is seen
        self._command(events, deadline)
        seen = [expected]

        def arrived() -> bool:
            seen[0] = self._witness.pointer(deadline)
            return seen[0] == expected

        limit = deadline.tightened(_ARRIVES_S)
        try:
            wait_until(arrived, deadline=limit, awaited="the machine to take an event of its tablet", poll_s=0.01)
        except (DeadlineExceeded, InputNotDelivered) as error:  # the witness's own "not delivered" is no answer to this
            raise InputDeliveryUnknown(
                f"the machine's tablet was sent {expected} and says {seen[0]}: {error}", detail={"seen": repr(seen[0])}
            ) from error
        self._state = expected

    def _command(self, events: list[dict[str, Any]], deadline: Deadline) -> None:
        self._qmp.execute("input-send-event", {"events": events}, deadline=deadline)


def drag_path(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int, bool]]:
    """Yield the places of a drag behind its start, and whether the hand rests there until the screen has followed.

    The last pixel is gone when all have followed: a place that was asked whether it takes what is dragged may say so
    only when the pointer moves again.
    """
    near = (end[0] + _sign(start[0] - end[0]), end[1] + _sign(start[1] - end[1]))
    length = math.dist(start, near)
    part = min(1.0, _TAKE_HOLD_PX / length) if length else 1.0
    hold = (start[0] + (near[0] - start[0]) * part, start[1] + (near[1] - start[1]) * part)
    yield from _line(start, hold, _TAKE_HOLD_STEPS)
    if part < 1:
        yield from _line(hold, near, max(_STEPS[0], min(_STEPS[1], int(length / _STEP_PX))))
    yield *end, True


def _line(start: tuple[float, float], end: tuple[float, float], steps: int) -> Iterator[tuple[int, int, bool]]:
    for step in range(1, steps + 1):
        part = step / steps
        x, y = start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part
        yield round(x), round(y), step == steps


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _axis(name: str, value: int) -> dict[str, Any]:
    return {"type": "abs", "data": {"axis": name, "value": value}}


def _button(name: str, down: bool) -> dict[str, Any]:
    return {"type": "btn", "data": {"button": name, "down": down}}
