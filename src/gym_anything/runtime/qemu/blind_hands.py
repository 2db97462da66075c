"""Mouse and keyboard from outside alone: QEMU takes each event, and nothing in the guest says that it came.

For guests that have no agent of ours. Pointer movement, press and release are commands of their own, in order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Button, Buttons, Click, Drag, InputOp, Move, Scroll, TypeText
from gym_anything.errors import ActionUnsupported
from gym_anything.runtime.qemu.keyboards import KEY_GAP_MS, KEY_HOLD_MS
from gym_anything.runtime.qemu.qmp import QmpClient
from gym_anything.runtime.qemu.qmp_keyboard import ExperimentalKeyboard
from gym_anything.runtime.qemu.qmp_pointer import drag_path, place
from gym_anything.runtime.qemu.us_keys import has_keys_for

USB_KEY_MS = 20.0
"""A USB keyboard is asked every 8 ms and gives one event each time; a stroke with Shift is four. Its queue holds 16;
what comes then is lost. Source: measured with UEFI's shell: 5 and 10 ms lose and merge keys, 20 and 20 ms none."""
_POINTER = (Click, Drag, Move, Buttons, Scroll)


class BlindHands:
    """A machine's tablet and keyboard. Any thread; they take turns."""

    def __init__(
        self, qmp: QmpClient, size: Callable[[], tuple[int, int]], sleep: Callable[[float], object] = time.sleep
    ) -> None:
        """Args: size: of the screen, in pixels."""
        self._qmp = qmp
        self._size = size
        hold_ms, gap_ms = max(KEY_HOLD_MS.get(), USB_KEY_MS), max(KEY_GAP_MS.get(), USB_KEY_MS)
        self._keys = ExperimentalKeyboard(qmp, hold_ms, gap_ms, sleep)
        self._held: set[Button] = set()
        self._turn = threading.Lock()

    def do(self, ops: Sequence[InputOp], deadline: Deadline) -> None:
        """Do the ops in order and return when QEMU has taken them.

        Raises: ActionUnsupported for what a US keyboard and a tablet have not (nothing was done); WorldLost, Aborted.
        """
        for op in ops:
            _check(op)
        with self._turn:
            for op in ops:
                if isinstance(op, _POINTER):
                    self._point(op, deadline)
                else:
                    self._keys.send([op], deadline)

    def release(self, deadline: Deadline) -> None:
        """Release every key and button that is held."""
        with self._turn:
            for button in sorted(self._held):
                self._button(button, False, deadline)
            self._keys.release(deadline)

    def _point(self, op: InputOp, deadline: Deadline) -> None:
        match op:
            case Move(x, y):
                self._move(x, y, deadline)
            case Click(button, x, y, count):
                self._move(x, y, deadline)
                for _ in range(count):
                    self._button(button, True, deadline)
                    self._button(button, False, deadline)
            case Drag(button, start, end):
                self._move(*start, deadline)
                self._button(button, True, deadline)
                try:
                    for x, y, _ in drag_path(start, end):
                        self._move(x, y, deadline)
                finally:
                    self._button(button, False, deadline)
            case Buttons(changes):
                for button, down in changes:
                    self._button(button, down, deadline)
            case Scroll(_, dy):
                for _ in range(abs(dy)):
                    for down in (True, False):
                        self._send([_press("wheel-down" if dy > 0 else "wheel-up", down)], deadline)

    def _move(self, x: int, y: int, deadline: Deadline) -> None:
        width, height = self._size()
        events = [
            {"type": "abs", "data": {"axis": "x", "value": place(x, width)}},
            {"type": "abs", "data": {"axis": "y", "value": place(y, height)}},
        ]
        self._send(events, deadline)

    def _button(self, button: Button, down: bool, deadline: Deadline) -> None:
        (self._held.add if down else self._held.discard)(button)
        self._send([_press(button, down)], deadline)

    def _send(self, events: list[dict[str, Any]], deadline: Deadline) -> None:
        self._qmp.execute("input-send-event", {"events": events}, deadline=deadline)


def _check(op: InputOp) -> None:
    if isinstance(op, Scroll) and op.dx:
        raise ActionUnsupported("the tablet of this machine has no horizontal wheel; nothing was done")
    if not isinstance(op, _POINTER) and not has_keys_for(op):
        what = f"the text {op.text!r:.60}" if isinstance(op, TypeText) else str(op)
        raise ActionUnsupported(f"this machine has a US keyboard, which has no keys for {what}; nothing was done")


def _press(button: str, down: bool) -> dict[str, Any]:
    return {"type": "btn", "data": {"button": button, "down": down}}
