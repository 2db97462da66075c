"""The keys of a US keyboard by QEMU's names: what is typed by which. ``ga-inputd`` has the same keys.

Source: QEMU ``qapi/ui.json`` (QKeyCode).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gym_anything.actions.keys import char_of_keysym, keysym_of
from gym_anything.actions.model import InputOp, KeysDown, KeysUp, PressKeys, TypeText

SHIFT = "shift"
_DIGITS = ")!@#$%^&*("
_SIGNS = {
    "grave_accent": "`~", "minus": "-_", "equal": "=+", "bracket_left": "[{", "bracket_right": "]}",
    "backslash": "\\|", "semicolon": ";:", "apostrophe": "'\"", "comma": ",<", "dot": ".>", "slash": "/?",
}  # fmt: skip
_PLAIN = {" ": "spc", "\n": "ret", "\r": "ret", "\t": "tab", "\b": "backspace"}
_NAMED = {
    "BackSpace": "backspace", "Tab": "tab", "Return": "ret", "Pause": "pause", "Scroll_Lock": "scroll_lock",
    "Sys_Req": "sysrq", "Escape": "esc", "Home": "home", "Left": "left", "Up": "up", "Right": "right",
    "Down": "down", "Prior": "pgup", "Next": "pgdn", "End": "end", "Print": "print", "Insert": "insert",
    "Menu": "menu", "Num_Lock": "num_lock", "KP_Enter": "kp_enter", "KP_Multiply": "kp_multiply",
    "KP_Add": "kp_add", "KP_Subtract": "kp_subtract", "KP_Divide": "kp_divide", "Shift_L": SHIFT,
    "Shift_R": "shift_r", "Control_L": "ctrl", "Control_R": "ctrl_r", "Caps_Lock": "caps_lock", "Meta_L": "alt",
    "Meta_R": "alt_r", "Alt_L": "alt", "Alt_R": "alt_r", "Super_L": "meta_l", "Super_R": "meta_r",
    "Delete": "delete", **{f"F{number}": f"f{number}" for number in range(1, 13)},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stroke:
    """One key, with or without Shift."""

    code: str
    shift: bool = False


def _strokes() -> Iterator[tuple[str, Stroke]]:
    for letter in "abcdefghijklmnopqrstuvwxyz":
        yield letter, Stroke(letter)
        yield letter.upper(), Stroke(letter, shift=True)
    for digit, shifted in zip("0123456789", _DIGITS, strict=True):
        yield digit, Stroke(digit)
        yield shifted, Stroke(digit, shift=True)
    for code, signs in _SIGNS.items():
        yield signs[0], Stroke(code)
        yield signs[1], Stroke(code, shift=True)
    for character, code in _PLAIN.items():
        yield character, Stroke(code)


_BY_CHARACTER = dict(_strokes())
_BY_KEYSYM = {keysym_of(name): Stroke(code) for name, code in _NAMED.items()}


def stroke_of_character(character: str) -> Stroke | None:
    """Return the stroke that types a character, or None when no key of a US keyboard does."""
    return _BY_CHARACTER.get(character)


def stroke_of_key(name: str) -> Stroke | None:
    """Return the stroke of a key by its canonical name, or None when a US keyboard has no such key."""
    number = keysym_of(name)
    found = _BY_KEYSYM.get(number)
    if found is not None:
        return found
    character = char_of_keysym(number)
    return None if character is None else _BY_CHARACTER.get(character)


def has_keys_for(op: InputOp) -> bool:
    """Tell whether a US keyboard can do an op; False for those of a pointer, too."""
    if isinstance(op, TypeText):
        return all(character in _BY_CHARACTER for character in op.text)
    if isinstance(op, PressKeys | KeysDown | KeysUp):
        return all(stroke_of_key(name) is not None for name in op.keys)
    return False
