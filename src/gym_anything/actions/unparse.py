"""From a typed input action back to the dict that means it."""

from __future__ import annotations

from typing import Any

from gym_anything.actions.model import (
    Buttons,
    Click,
    Drag,
    InputAction,
    InputOp,
    KeysDown,
    KeysUp,
    Move,
    PressKeys,
    Scroll,
    TypeText,
)
from gym_anything.actions.parse import CLICKS, DRAGS, KEYBOARD_KEYS

_CLICK_KEY = {click: key for key, click in CLICKS.items()}
_ORDER = (*CLICKS, *DRAGS, "move", "buttons", "scroll", "hscroll", *KEYBOARD_KEYS)


def raw_of_input(action: InputAction) -> dict[str, Any]:
    """Return the action dict; see ``InputAction.to_raw``."""
    mouse: dict[str, Any] = {}
    keyboard: dict[str, Any] = {}
    last = -1
    for op in action.ops:
        for device, key, value in _entries(op):
            place = _ORDER.index(key)
            if place <= last:
                raise ValueError(f"one action dict cannot say {key!r} here; its order is {', '.join(_ORDER)}")
            last = place
            (mouse if device == "mouse" else keyboard)[key] = value
    raw: dict[str, Any] = {}
    if mouse:
        raw["mouse"] = mouse
    if keyboard or not mouse:
        raw["keyboard"] = keyboard or {"text": ""}
    return raw if action.role is None else {**raw, "_role": action.role}


def _entries(op: InputOp) -> list[tuple[str, str, Any]]:
    match op:
        case Click(button, x, y, count):
            key = _CLICK_KEY.get((button, count))
            if key is None:
                raise ValueError(f"no action key clicks the {button} button {count} times")
            return [("mouse", key, [x, y])]
        case Drag(button, start, end):
            return [("mouse", f"{button}_click_drag", [list(start), list(end)])]
        case Move(x, y):
            return [("mouse", "move", [x, y])]
        case Buttons(changes):
            return [("mouse", "buttons", {f"{button}_{'down' if down else 'up'}": True for button, down in changes})]
        case Scroll(dx, dy):
            turns = (("scroll", dy), ("hscroll", dx))
            return [("mouse", key, clicks) for key, clicks in turns if clicks]
        case TypeText(text):
            return [("keyboard", "text", text)]
        case PressKeys(keys):
            return [("keyboard", "keys", list(keys))]
        case KeysDown(keys):
            return [("keyboard", "keys_down", list(keys))]
        case KeysUp(keys):
            return [("keyboard", "keys_up", list(keys))]
