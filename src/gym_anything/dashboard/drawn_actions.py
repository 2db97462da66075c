"""Actions in words, and as marks to draw on the frame that the agent saw."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gym_anything.actions.model import (
    Action,
    Buttons,
    Click,
    Drag,
    InputAction,
    InputOp,
    KeysDown,
    KeysUp,
    Move,
    PressKeys,
    ScreenshotAction,
    Scroll,
    SettleAction,
    TypeText,
    WaitAction,
)
from gym_anything.actions.parse import parse_action
from gym_anything.errors import ActionError

_TIMES = {1: "click", 2: "double click", 3: "triple click"}
_SHORT_KEYS = {"Control_L": "Ctrl", "Shift_L": "Shift", "Alt_L": "Alt", "Super_L": "Super", "Return": "Enter"}
_LONGEST_JSON = 300

Point = tuple[int, int]


@dataclass
class Pen:
    """Draws one episode's actions in order; knows where the pointer is by what was done.

    Attributes:
        pointer: x, y in guest pixels; None as long as nothing has moved it.
    """

    pointer: Point | None = None

    def draw(self, raw: Any) -> dict[str, Any]:
        """Return ``{"text", "marks"}`` of one action dict; what is no action is shown as it is, without marks."""
        try:
            action = parse_action(raw, screen=None)
        except ActionError:
            return {"text": _json(raw), "marks": []}
        return self._drawn(action, raw)

    def _drawn(self, action: Action, raw: Any) -> dict[str, Any]:
        if isinstance(action, InputAction):
            drawn = [self._op(op) for op in action.ops]
            said = ", then ".join(text for text, _ in drawn) or "nothing"
            role = f"{action.role}: " if action.role else ""
            return {"text": role + said, "marks": [mark for _, mark in drawn]}
        if isinstance(action, WaitAction):
            return {"text": f"wait {action.seconds:g} s", "marks": []}
        if isinstance(action, ScreenshotAction):
            return {"text": "look", "marks": []}
        if isinstance(action, SettleAction):
            text = f"wait until the screen is still for {action.quiet_ms} ms, {action.max_ms} ms at most"
            return {"text": text, "marks": []}
        return {"text": _json(raw), "marks": []}

    def _op(self, op: InputOp) -> tuple[str, dict[str, Any]]:
        return _DRAW[type(op)](self, op)

    def _click(self, op: Click) -> tuple[str, dict[str, Any]]:
        self.pointer = (op.x, op.y)
        text = f"{op.button} {_TIMES.get(op.count, f'click × {op.count}')} at {op.x}, {op.y}"
        return text, {"kind": "click", "button": op.button, "count": op.count, "at": [op.x, op.y]}

    def _drag(self, op: Drag) -> tuple[str, dict[str, Any]]:
        self.pointer = op.end
        text = f"{op.button} drag from {op.start[0]}, {op.start[1]} to {op.end[0]}, {op.end[1]}"
        return text, {"kind": "drag", "button": op.button, "at": list(op.start), "to": list(op.end)}

    def _move(self, op: Move) -> tuple[str, dict[str, Any]]:
        self.pointer = (op.x, op.y)
        return f"move to {op.x}, {op.y}", {"kind": "move", "at": [op.x, op.y]}

    def _buttons(self, op: Buttons) -> tuple[str, dict[str, Any]]:
        text = ", ".join(f"{'press' if down else 'release'} the {button} button" for button, down in op.changes)
        return text, self._said(text)

    def _scroll(self, op: Scroll) -> tuple[str, dict[str, Any]]:
        ways = [(op.dy, "down", "up"), (op.dx, "right", "left")]
        text = ", ".join(f"scroll {plus if n > 0 else minus} {abs(n)}" for n, plus, minus in ways if n)
        return text or "scroll 0", {"kind": "scroll", "at": self._place(), "dx": op.dx, "dy": op.dy}

    def _type(self, op: TypeText) -> tuple[str, dict[str, Any]]:
        return f"type {json.dumps(op.text, ensure_ascii=False)}", self._said(op.text)

    def _keys(self, op: PressKeys | KeysDown | KeysUp) -> tuple[str, dict[str, Any]]:
        verb = {PressKeys: "press", KeysDown: "hold", KeysUp: "release"}[type(op)]
        chord = "+".join(_SHORT_KEYS.get(key, key) for key in op.keys)
        return f"{verb} {chord}", self._said(chord if verb == "press" else f"{verb} {chord}")

    def _said(self, text: str) -> dict[str, Any]:
        return {"kind": "keys", "at": self._place(), "text": text}

    def _place(self) -> list[int] | None:
        return list(self.pointer) if self.pointer is not None else None


_DRAW: dict[type, Callable[[Pen, Any], tuple[str, dict[str, Any]]]] = {
    Click: Pen._click,
    Drag: Pen._drag,
    Move: Pen._move,
    Buttons: Pen._buttons,
    Scroll: Pen._scroll,
    TypeText: Pen._type,
    PressKeys: Pen._keys,
    KeysDown: Pen._keys,
    KeysUp: Pen._keys,
}


def _json(raw: Any) -> str:
    text = json.dumps(raw, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_JSON else text[: _LONGEST_JSON - 1] + "…"
