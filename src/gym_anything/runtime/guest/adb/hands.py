"""What an Android guest is told for mouse and keyboard: command lines of its own program ``input``. Pure.

Source: Android ``frameworks/base/cmds/input``; the contract: a right click is a press of a second, a drag and the wheel
are swipes, and a pointer that only moves does nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from gym_anything.actions.keys import char_of_keysym, keysym_of
from gym_anything.actions.model import Click, Drag, InputOp, Move, PressKeys, Scroll, TypeText
from gym_anything.errors import ActionUnsupported

LONG_PRESS_MS, SWIPE_MS = 1000, 500
SCROLL_PART = 8
"""A wheel click swipes this part of the screen's height."""
NO_POINTER = "Android has no pointer: the move did nothing"
_TYPED = {"\n": "ENTER", "\r": "ENTER", "\t": "TAB", "\b": "DEL"}
_KEYS = {
    "Return": "ENTER", "KP_Enter": "ENTER", "Escape": "ESCAPE", "BackSpace": "DEL", "Delete": "FORWARD_DEL",
    "Tab": "TAB", "space": "SPACE", "Home": "MOVE_HOME", "End": "MOVE_END", "Prior": "PAGE_UP", "Next": "PAGE_DOWN",
    "Up": "DPAD_UP", "Down": "DPAD_DOWN", "Left": "DPAD_LEFT", "Right": "DPAD_RIGHT", "Insert": "INSERT",
    "Menu": "MENU", "Print": "SYSRQ", "Caps_Lock": "CAPS_LOCK", "Num_Lock": "NUM_LOCK", "Shift_L": "SHIFT_LEFT",
    "Shift_R": "SHIFT_RIGHT", "Control_L": "CTRL_LEFT", "Control_R": "CTRL_RIGHT", "Alt_L": "ALT_LEFT",
    "Alt_R": "ALT_RIGHT", "Super_L": "META_LEFT", "Super_R": "META_RIGHT", "XF86Back": "BACK",
    "XF86HomePage": "HOME", "XF86AudioRaiseVolume": "VOLUME_UP", "XF86AudioLowerVolume": "VOLUME_DOWN",
    "comma": "COMMA", "period": "PERIOD", "minus": "MINUS", "equal": "EQUALS", "slash": "SLASH",
    "semicolon": "SEMICOLON", "apostrophe": "APOSTROPHE", "grave": "GRAVE", "bracketleft": "LEFT_BRACKET",
    "bracketright": "RIGHT_BRACKET", "backslash": "BACKSLASH", "plus": "PLUS", "at": "AT", "asterisk": "STAR",
    "numbersign": "POUND", **{f"F{number}": f"F{number}" for number in range(1, 13)},
}  # fmt: skip


def input_lines(ops: Sequence[InputOp], size: tuple[int, int]) -> list[str]:
    """Return the command lines that do these ops, in order; a move has none.

    Raises: ActionUnsupported for what a touch screen and this program cannot do; nothing is returned then.
    """
    return [line for op in ops for line in _lines(op, size)]


def _lines(op: InputOp, size: tuple[int, int]) -> Iterator[str]:
    match op:
        case Click("left", x, y, count):
            yield "; ".join([f"input tap {x} {y}"] * count)
        case Click("right", x, y, 1):
            yield f"input swipe {x} {y} {x} {y} {LONG_PRESS_MS}"
        case Drag("left", start, end):
            yield f"input swipe {start[0]} {start[1]} {end[0]} {end[1]} {SWIPE_MS}"
        case Move():
            return
        case Scroll(dx, dy):
            yield from _swipes(dx, dy, size)
        case TypeText(text):
            yield from _typing(text)
        case PressKeys(keys):
            codes = [_code(name) for name in keys]
            yield f"input keyevent {codes[0]}" if len(codes) == 1 else f"input keycombination {' '.join(codes)}"
        case _:
            raise ActionUnsupported(f"an Android guest cannot do {op}: it has a touch screen and no pointer")


def _swipes(dx: int, dy: int, size: tuple[int, int]) -> Iterator[str]:
    x, y = size[0] // 2, size[1] // 2
    for count, step in ((abs(dy), (0, _sign(dy))), (abs(dx), (_sign(dx), 0))):
        way_x, way_y = step[0] * size[0] // SCROLL_PART, step[1] * size[1] // SCROLL_PART
        for _ in range(count):
            yield f"input swipe {x} {y} {x - way_x} {y - way_y} {SWIPE_MS}"


def _typing(text: str) -> Iterator[str]:
    """Split a text at what ``input text`` cannot say: line ends, and a percent sign before an s, which is a space."""
    piece = ""
    for character in text:
        if character not in _TYPED and not " " <= character <= "~":
            raise ActionUnsupported(f"Android's 'input' types ASCII alone, not {character!r}; nothing was typed")
    for character in text:
        if character in _TYPED or (character == "s" and piece.endswith("%")):
            if piece:
                yield _text(piece)
            piece = ""
        if character in _TYPED:
            yield f"input keyevent KEYCODE_{_TYPED[character]}"
        else:
            piece += character
    if piece:
        yield _text(piece)


def _text(piece: str) -> str:
    return f"input text {shlex.quote(piece.replace(' ', '%s'))}"


def _code(name: str) -> str:
    known = _KEYS.get(name)
    if known is None:
        character = char_of_keysym(keysym_of(name)) or ""
        if not (character.isascii() and character.isalnum()):
            raise ActionUnsupported(f"an Android guest has no key {name}; nothing was pressed")
        known = character.upper()
    return f"KEYCODE_{known}"


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
