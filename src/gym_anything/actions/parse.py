"""From action dicts to typed actions: one strict parser for everybody.

A dict is one of three things:

* a **control action**: ``action`` (or ``type``) is ``wait``, ``screenshot`` or ``settle``. ``wait`` takes ``time`` or
  ``seconds`` (of the world's time; ``DEFAULT_WAIT_S`` when absent), ``settle`` takes ``quiet_ms``, ``max_ms`` and
  ``ignore``, boxes ``[x, y, width, height]`` in which changes do not count;
* **input**: only ``mouse`` and ``keyboard`` (and ``_role``). Their sub-keys run in the contract's fixed order, however
  the dict is ordered;
* **anything else**: a ``PassthroughAction``, handed to the runner, which accepts it or raises. A ``mouse`` or
  ``keyboard`` in it is checked all the same.

Whatever is known is checked in full, and nothing is ignored: an unknown sub-key, a value of the wrong type, a point off
the screen or a key that no table has is an ``ActionError`` that says where, what and what was perhaps meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.actions.chords import chord
from gym_anything.actions.model import (
    Action,
    Button,
    Buttons,
    Click,
    Drag,
    InputAction,
    InputOp,
    KeysDown,
    KeysUp,
    Move,
    PassthroughAction,
    PressKeys,
    ScreenshotAction,
    Scroll,
    SettleAction,
    TypeText,
    WaitAction,
)
from gym_anything.actions.values import (
    read_bool,
    read_boxes,
    read_dict,
    read_int,
    read_number,
    read_point,
    read_text,
    refuse,
    refuse_unknown,
)
from gym_anything.errors import ActionError

Screen = tuple[int, int] | None

DEFAULT_WAIT_S = 1.0
"""What a wait without a duration waits: agents whose vocabulary has a bare "wait" mean about a second."""
LONGEST_WAIT_S = 86_400.0
MOST_WHEEL_CLICKS = 10_000
"""Wheel clicks in one action; more is a pixel count given by mistake."""

CLICKS: dict[str, tuple[Button, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
DRAGS: dict[str, Button] = {"left_click_drag": "left", "right_click_drag": "right"}
BUTTON_CHANGES: dict[str, tuple[Button, bool]] = {
    "left_down": ("left", True),
    "left_up": ("left", False),
    "middle_down": ("middle", True),
    "middle_up": ("middle", False),
    "right_down": ("right", True),
    "right_up": ("right", False),
}
MOUSE_KEYS = (*CLICKS, *DRAGS, "move", "buttons", "scroll", "hscroll")
KEYBOARD_KEYS = ("text", "keys", "keys_down", "keys_up")
_CONTROL_KEYS = {"wait": ("time", "seconds"), "screenshot": (), "settle": ("quiet_ms", "max_ms", "ignore")}


def parse_actions(raw: Any, *, screen: Screen) -> list[Action]:
    """Parse one action dict or a list of them, all before anything is done.

    Args:
        raw: a dict, or a list or tuple of dicts (it may be empty).
        screen: (width, height) in guest pixels, or None when it is not known.
    Raises: ActionError; for a list the message starts with the index.
    """
    if isinstance(raw, Mapping):
        return [parse_action(raw, screen=screen)]
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes):
        raise ActionError(f"actions must be a dict or a list of dicts, got {type(raw).__name__} {raw!r:.80}")
    actions = []
    for index, item in enumerate(raw):
        try:
            actions.append(parse_action(item, screen=screen))
        except ActionError as error:
            raise ActionError(f"action {index}: {error}", detail={"index": index, **error.detail}) from error
    return actions


def parse_action(raw: Any, *, screen: Screen) -> Action:
    """Parse one action dict.

    Args:
        raw: the dict as the agent made it; it is not changed and not kept (a passed-through one is copied).
        screen: (width, height) in guest pixels; None checks only that coordinates are not negative.
    Raises: ActionError; nothing of the action was done.
    """
    if not isinstance(raw, Mapping):
        raise ActionError(f"an action must be a dict, got {type(raw).__name__} {raw!r:.80}")
    for key in raw:
        if not isinstance(key, str):
            raise ActionError(f"the keys of an action must be strings, got {key!r:.80}")
    role = _read_role(raw)
    kinds = [key for key in raw if key != "_role"]
    if not kinds:
        raise ActionError('the action is empty; to only observe send [] or {"action": "screenshot"}')
    name = raw.get("action", raw.get("type"))
    if isinstance(name, str) and name in _CONTROL_KEYS:
        return _parse_control(name, raw, role, screen)
    ops = _parse_mouse(raw["mouse"], screen) if "mouse" in raw else []
    ops += _parse_keyboard(raw["keyboard"]) if "keyboard" in raw else []
    if set(kinds) <= {"mouse", "keyboard"}:
        return InputAction(tuple(ops), role)
    return PassthroughAction(dict(raw))


def _read_role(raw: Mapping[str, Any]) -> str | None:
    role = raw.get("_role")
    if "_role" in raw and not (isinstance(role, str) and role):
        raise refuse("_role", f"must be the name of a role, got {role!r:.80}")
    return role


def _parse_control(name: str, raw: Mapping[str, Any], role: str | None, screen: Screen) -> Action:
    name_key = "action" if "action" in raw else "type"
    refuse_unknown(raw, name, (name_key, *_CONTROL_KEYS[name], "_role"))
    if name == "screenshot":
        return ScreenshotAction(role)
    if name == "settle":
        return _parse_settle(raw, role, screen)
    if "time" in raw and "seconds" in raw:
        raise refuse("wait", "has both 'time' and 'seconds'; give one")
    key = "seconds" if "seconds" in raw else "time"
    seconds = read_number(raw.get(key, DEFAULT_WAIT_S), f"wait.{key}")
    if not 0 <= seconds <= LONGEST_WAIT_S:
        raise refuse(f"wait.{key}", f"must be between 0 and {LONGEST_WAIT_S:.0f} seconds, got {seconds}")
    return WaitAction(seconds, role)


def _parse_settle(raw: Mapping[str, Any], role: str | None, screen: Screen) -> SettleAction:
    longest_ms = int(LONGEST_WAIT_S * 1000)
    quiet_ms = read_int(raw.get("quiet_ms", SettleAction().quiet_ms), "settle.quiet_ms", low=0, high=longest_ms)
    max_ms = read_int(raw.get("max_ms", SettleAction().max_ms), "settle.max_ms", low=0, high=longest_ms)
    return SettleAction(quiet_ms, max_ms, role, read_boxes(raw.get("ignore", ()), "settle.ignore", screen))


def _parse_mouse(value: Any, screen: Screen) -> list[InputOp]:
    mouse = read_dict(value, "mouse", MOUSE_KEYS)
    ops: list[InputOp] = []
    for key, (button, count) in CLICKS.items():
        if key in mouse:
            x, y = read_point(mouse[key], f"mouse.{key}", screen)
            ops.append(Click(button, x, y, count))
    for key, button in DRAGS.items():
        if key in mouse:
            ops.append(_parse_drag(button, mouse[key], f"mouse.{key}", screen))
    if "move" in mouse:
        ops.append(Move(*read_point(mouse["move"], "mouse.move", screen)))
    if "buttons" in mouse:
        changes = read_dict(mouse["buttons"], "mouse.buttons", BUTTON_CHANGES)
        wanted = {key: read_bool(value, f"mouse.buttons.{key}") for key, value in changes.items()}
        pressed = tuple(change for key, change in BUTTON_CHANGES.items() if wanted.get(key))
        ops += [Buttons(pressed)] if pressed else []
    turns = [_parse_wheel(mouse, key) for key in ("hscroll", "scroll")]
    ops += [Scroll(*turns)] if any(turns) else []
    return ops


def _parse_drag(button: Button, value: Any, where: str, screen: Screen) -> Drag:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise refuse(where, f"must be [[x1, y1], [x2, y2]], got {value!r:.80}")
    start, end = (read_point(point, f"{where}[{index}]", screen) for index, point in enumerate(value))
    return Drag(button, start, end)


def _parse_wheel(mouse: Mapping[str, Any], key: str) -> int:
    return read_int(mouse.get(key, 0), f"mouse.{key}", low=-MOST_WHEEL_CLICKS, high=MOST_WHEEL_CLICKS)


def _parse_keyboard(value: Any) -> list[InputOp]:
    keyboard = read_dict(value, "keyboard", KEYBOARD_KEYS)
    ops: list[InputOp] = []
    if "text" in keyboard:
        text = read_text(keyboard["text"], "keyboard.text")
        ops += [TypeText(text)] if text else []
    if "keys" in keyboard:
        ops.append(PressKeys(_parse_keys(keyboard["keys"], "keyboard.keys")))
    if "keys_down" in keyboard:
        ops.append(KeysDown(_parse_keys(keyboard["keys_down"], "keyboard.keys_down")))
    if "keys_up" in keyboard:
        ops.append(KeysUp(_parse_keys(keyboard["keys_up"], "keyboard.keys_up")))
    return ops


def _parse_keys(value: Any, where: str) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise refuse(where, f"must be a key name or a list of key names, got {value!r:.80}")
    if not names:
        raise refuse(where, "names no key")
    try:
        return chord(names)
    except ActionError as error:
        raise refuse(where, str(error), **error.detail) from error
