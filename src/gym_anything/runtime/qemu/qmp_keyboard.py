"""Keys by QEMU's own keyboards, for who chooses them over the guest's: nothing says whether they arrived."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import InputOp, KeysDown, KeysUp, PressKeys, TypeText
from gym_anything.runtime.qemu.qmp import QmpClient
from gym_anything.runtime.qemu.us_keys import SHIFT, Stroke, stroke_of_character, stroke_of_key

KEYS_PER_COMMAND = 12
"""More in one command overflow a virtio keyboard's queue, which then drops all of them. Source: measured."""
Change = tuple[str, bool]


class HeldCodes:
    """Keys that stay down across actions."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def changes(self, op: KeysDown | KeysUp) -> list[Change]:
        """Return what an op changes, and note it."""
        down, found = isinstance(op, KeysDown), []
        for code in (_code(name) for name in op.keys):
            if (code in self.codes) == down:
                continue
            (self.codes.append if down else self.codes.remove)(code)
            found.append((code, down))
        return found

    def release(self) -> list[Change]:
        """Return the changes that let everything go."""
        held, self.codes = self.codes, []
        return [(code, False) for code in reversed(held)]


class VirtioKeyboard:
    """Keys by ``input-send-event``, each pressed and released in order, for machines with a virtio keyboard."""

    def __init__(self, qmp: QmpClient) -> None:
        self._qmp = qmp
        self._held = HeldCodes()

    def send(self, ops: Sequence[InputOp], deadline: Deadline) -> int:
        """Play text and keys; return how many characters were typed. Raises: WorldError, WorldLost, Aborted."""
        self._play([change for op in ops for change in self._changes(op)], deadline)
        return sum(len(op.text) for op in ops if isinstance(op, TypeText))

    def release(self, deadline: Deadline) -> None:
        """Release every key that is held."""
        self._play(self._held.release(), deadline)

    def _changes(self, op: InputOp) -> Iterator[Change]:
        if isinstance(op, KeysDown | KeysUp):
            yield from self._held.changes(op)
        for keys in _chords(op):
            yield from ((code, True) for code in keys)
            yield from ((code, False) for code in reversed(keys) if code not in self._held.codes)

    def _play(self, changes: Sequence[Change], deadline: Deadline) -> None:
        for start in range(0, len(changes), KEYS_PER_COMMAND):
            events = [_event(*change) for change in changes[start : start + KEYS_PER_COMMAND]]
            self._qmp.execute("input-send-event", {"events": events}, deadline=deadline)


class ExperimentalKeyboard:
    """Keys by ``send-key``: QEMU presses, and releases by a timer of its own, which margins of time must allow for."""

    def __init__(
        self, qmp: QmpClient, hold_ms: float, gap_ms: float, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._qmp = qmp
        self._hold_ms, self._gap_ms = hold_ms, gap_ms
        self._sleep = sleep
        self._held = HeldCodes()

    def send(self, ops: Sequence[InputOp], deadline: Deadline) -> int:
        """Play text and keys; return how many characters were typed. Raises: WorldError, WorldLost, Aborted."""
        for op in ops:
            if isinstance(op, KeysDown | KeysUp):
                self._change(self._held.changes(op), deadline)
            for keys in _chords(op):
                self._press(keys, deadline)
        return sum(len(op.text) for op in ops if isinstance(op, TypeText))

    def release(self, deadline: Deadline) -> None:
        """Release every key that is held."""
        self._change(self._held.release(), deadline)

    def _press(self, keys: Sequence[str], deadline: Deadline) -> None:
        names = [{"type": "qcode", "data": code} for code in keys if code not in self._held.codes]
        if names:
            arguments = {"keys": names, "hold-time": max(1, round(self._hold_ms))}
            self._qmp.execute("send-key", arguments, deadline=deadline)
            self._sleep((self._hold_ms + self._gap_ms) / 1000)  # its release comes by the clock, and tells nobody

    def _change(self, changes: Sequence[Change], deadline: Deadline) -> None:
        for change in changes:
            self._qmp.execute("input-send-event", {"events": [_event(*change)]}, deadline=deadline)


def _chords(op: InputOp) -> Iterator[list[str]]:
    """Yield what goes down together and up again, of a text or a chord."""
    if isinstance(op, TypeText):
        for character in op.text:
            yield _codes([stroke_of_character(character)])
    elif isinstance(op, PressKeys):
        yield _codes([stroke_of_key(name) for name in op.keys])


def _codes(strokes: Sequence[Stroke | None]) -> list[str]:
    """Return the codes in order; Shift goes before the first that needs it, once."""
    codes: list[str] = []
    for stroke in strokes:
        assert stroke is not None, "checked before"
        if stroke.shift and SHIFT not in codes:
            codes.append(SHIFT)
        codes.append(stroke.code)
    return codes


def _code(name: str) -> str:
    stroke = stroke_of_key(name)
    assert stroke is not None, "checked before"
    return stroke.code


def _event(code: str, down: bool) -> dict[str, object]:
    return {"type": "key", "data": {"down": down, "key": {"type": "qcode", "data": code}}}
