"""Hands that do not go through the guest's desktop service: QEMU's tablet, and a keyboard; each input acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Buttons, Click, Drag, InputOp, Move, Scroll
from gym_anything.errors import ActionError, InputDeliveryUnknown, InputNotDelivered
from gym_anything.runtime.desktop.desktop import InputAck
from gym_anything.runtime.desktop.wire import CONSTANTS
from gym_anything.runtime.qemu.fast_keyboard import FastKeyboard
from gym_anything.runtime.qemu.keyboards import KEY_GAP_MS, KEY_HOLD_MS, Hands
from gym_anything.runtime.qemu.qmp import QmpClient
from gym_anything.runtime.qemu.qmp_keyboard import ExperimentalKeyboard, VirtioKeyboard
from gym_anything.runtime.qemu.qmp_pointer import QmpPointer
from gym_anything.runtime.qemu.us_keys import has_keys_for

_CATCH_UP_QUIET_MS, _CATCH_UP_MS, _TAKEN_QUIET_MS = 60, 3000, 10
_ANSWERS_S = 20.0
"""How long the service may take to answer on a machine that gets little of its host's processors."""
_PRESSES, _POINTER = CONSTANTS["ELSEWHERE_PRESSES"], CONSTANTS["ELSEWHERE_POINTER"]
_KEYS, _KEYS_NEXT = CONSTANTS["ELSEWHERE_KEYS"], CONSTANTS["ELSEWHERE_KEYS_NEXT"]


class Keys(Protocol):
    """A keyboard."""

    def send(self, ops: Sequence[InputOp], deadline: Deadline) -> int:
        """Play text and keys; return how many characters were typed."""

    def release(self, deadline: Deadline) -> None:
        """Release every key that is held."""


class Service(Protocol):
    """The guest's desktop service, for what neither device can do, and to learn what the guest made of input."""

    @property
    def size(self) -> tuple[int, int]:
        """The screen's size."""

    def send_by_service(self, ops: Sequence[InputOp], deadline: Deadline) -> InputAck:
        """Do ops by the service's own hands."""

    def tell_of_input(self, kinds: int, deadline: Deadline) -> tuple[int, int]:
        """Tell of input by other hands; return where the pointer is once the X server has done what it had read."""

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000, *, deadline: Deadline | None = None) -> object:
        """Return once the screen is still."""


class FastHands:
    """Pointer and keyboard of one machine.

    What they cannot say goes through the guest's desktop service, in its turn: text and keys that no US keyboard has,
    the horizontal wheel. Any thread; they take turns.
    """

    def __init__(self, hands: Hands, qmp: QmpClient, witness: FastKeyboard, service: Service) -> None:
        """Args: hands: the keyboard. witness: sees in the guest what arrives there."""
        self._witness = witness
        self._service = service
        self._turn = threading.Lock()
        self._pressed = False
        self._keys: Keys = witness
        if hands == "virtio":
            self._keys = VirtioKeyboard(qmp)
        elif hands == "qmp-experimental":
            self._keys = ExperimentalKeyboard(qmp, KEY_HOLD_MS.get(), KEY_GAP_MS.get())
        self._pointer = QmpPointer(qmp, witness, lambda: service.size, self._catch_up, self._before_press)

    def do(self, ops: Sequence[InputOp], deadline: Deadline) -> tuple[tuple[int, int], int]:
        """Do the ops in order; return where the pointer is then, and how many characters were typed.

        Raises: as ``Desktop.send``; InputNotDelivered only when none of the ops was done.
        """
        self._check(ops)
        typed, at, done = 0, (0, 0), 0
        with self._turn:
            try:
                for way, group in groupby(ops, _way):
                    batch = list(group)
                    if way == "service":
                        ack = self._service.send_by_service(batch, deadline)
                        done += len(batch)
                        typed, at = typed + ack.chars_typed, ack.pointer
                    elif way == "keys":
                        typed += self._type(batch, deadline)
                        done += len(batch)
                        at = self._service.tell_of_input(_KEYS, deadline)
                    else:
                        for op in batch:
                            self._pointer.do(op, deadline)
                            done += 1
                        at = self._service.tell_of_input(_POINTER | _PRESSES, deadline)
            except InputNotDelivered as error:
                if not done:
                    raise
                raise InputDeliveryUnknown(
                    f"{done} of {len(ops)} parts of the input were done, the next was not: {error}",
                    detail={**error.detail, "ops_done": done},
                ) from error
        return at, typed

    def _type(self, batch: Sequence[InputOp], deadline: Deadline) -> int:
        """Play keys, once the window manager has seen every press before them: it may move the focus."""
        if self._pressed:
            self._service.tell_of_input(_KEYS_NEXT, deadline)
            # Seen on a busy machine: the first key still went where the focus was before the press. The application
            # that got the press is asked whether it has taken it.
            self._service.settle(_TAKEN_QUIET_MS, _CATCH_UP_MS, deadline=deadline)
            self._pressed = False
        return self._keys.send(batch, deadline)

    def release(self, deadline: Deadline) -> None:
        """Release every key and button that is held. Raises: as ``do``."""
        with self._turn:
            self._pointer.release(deadline)
            self._keys.release(deadline)

    def abort(self) -> None:
        """End every blocked call. Any thread; returns at once."""
        self._witness.abort()

    def close(self) -> None:
        """Close; idempotent."""
        self._witness.close()

    def _before_press(self) -> None:
        """Wait until the window manager has passed the last press on: what comes meanwhile may be lost."""
        if self._pressed:
            deadline = Deadline.after(_ANSWERS_S)
            self._service.tell_of_input(_PRESSES, deadline)
            self._service.tell_of_input(_KEYS_NEXT, deadline)
        self._pressed = True

    def _catch_up(self) -> None:
        """Wait until whoever is under the pointer has taken what it was sent, and the screen is still."""
        deadline = Deadline.after(_ANSWERS_S)
        self._service.tell_of_input(_POINTER | _PRESSES, deadline)
        self._service.settle(_CATCH_UP_QUIET_MS, _CATCH_UP_MS, deadline=deadline)

    def _check(self, ops: Sequence[InputOp]) -> None:
        """Refuse what is off the screen before anything is done. Raises: ActionError."""
        width, height = self._service.size
        for op in ops:
            for x, y in _places(op):
                if not (0 <= x < width and 0 <= y < height):
                    raise ActionError(f"({x}, {y}) is not on the screen (the screen has {width} x {height} pixels)")


def _way(op: InputOp) -> str:
    if isinstance(op, Click | Drag | Move | Buttons) or (isinstance(op, Scroll) and not op.dx):
        return "pointer"
    return "keys" if has_keys_for(op) else "service"


def _places(op: InputOp) -> list[tuple[int, int]]:
    if isinstance(op, Click | Move):
        return [(op.x, op.y)]
    return [op.start, op.end] if isinstance(op, Drag) else []
