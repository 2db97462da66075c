"""Strict readers of the values inside an action dict; each names the place and refuses what is not exactly right.

Numbers: ints (NumPy's too) and floats with an integral value count as ints, since JSON from some languages has no ints;
``3.5``, NaN, infinities, bools and numeric strings are refused, never rounded or converted.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

from gym_anything.actions.keys import is_typable
from gym_anything.actions.model import Box, Point
from gym_anything.errors import ActionError

LARGEST_COORDINATE = 32767
"""X11 coordinates are signed 16-bit; the bound when the screen's size is not known."""
LONGEST_TEXT = 1_000_000
"""Characters in one text; more would block the world for minutes."""
MOST_BOXES = 16
"""Boxes that one settle can leave out."""


def refuse(where: str, problem: str, **detail: Any) -> ActionError:
    """Build the error of a bad value at ``where`` (a path like ``mouse.left_click``)."""
    return ActionError(f"{where}: {problem}", detail={"where": where, **detail})


def read_int(value: Any, where: str, *, low: int, high: int) -> int:
    """Return an int between ``low`` and ``high``, both included."""
    number = read_number(value, where)
    if not number.is_integer():
        raise refuse(where, f"must be a whole number, got {value!r:.80}")
    if not low <= number <= high:
        raise refuse(where, f"must be between {low} and {high}, got {value!r:.80}")
    return int(number)


def read_number(value: Any, where: str) -> float:
    """Return a finite float; bools, strings, NaN and infinities are refused."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise refuse(where, f"must be a number, got {_kind(value)} {value!r:.80}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise refuse(where, f"must be a finite number, got {value!r:.80}")
    return number


def read_point(value: Any, where: str, screen: tuple[int, int] | None) -> Point:
    """Return ``[x, y]`` as a point inside ``screen`` (width, height)."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise refuse(where, f"must be [x, y], got {_kind(value)} {value!r:.80}")
    width, height = screen or (LARGEST_COORDINATE + 1, LARGEST_COORDINATE + 1)
    x = read_number(value[0], f"{where}[0]")
    y = read_number(value[1], f"{where}[1]")
    if not (x.is_integer() and y.is_integer()):
        raise refuse(where, f"must be whole pixels, got [{value[0]!r:.40}, {value[1]!r:.40}]")
    if not (0 <= x < width and 0 <= y < height):
        bound = f"{width}x{height} screen" if screen else "any screen"
        raise refuse(where, f"point [{x:.0f}, {y:.0f}] is outside the {bound} (origin top-left, guest pixels)")
    return int(x), int(y)


def read_boxes(value: Any, where: str, screen: tuple[int, int] | None) -> tuple[Box, ...]:
    """Return a list of ``[x, y, width, height]`` as boxes that lie inside ``screen`` (width, height)."""
    if not isinstance(value, list | tuple) or len(value) > MOST_BOXES:
        raise refuse(where, f"must be a list of at most {MOST_BOXES} boxes [x, y, width, height], got {value!r:.80}")
    return tuple(_read_box(box, f"{where}[{index}]", screen) for index, box in enumerate(value))


def _read_box(value: Any, where: str, screen: tuple[int, int] | None) -> Box:
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise refuse(where, f"must be [x, y, width, height], got {_kind(value)} {value!r:.80}")
    x, y, width, height = (
        read_int(number, f"{where}[{index}]", low=index // 2, high=LARGEST_COORDINATE + 1)
        for index, number in enumerate(value)
    )
    right, bottom = screen or (LARGEST_COORDINATE + 1, LARGEST_COORDINATE + 1)
    if x + width > right or y + height > bottom:
        bound = f"{right}x{bottom} screen" if screen else "any screen"
        raise refuse(where, f"box {list(value)} does not lie inside the {bound} (origin top-left, guest pixels)")
    return x, y, width, height


def read_bool(value: Any, where: str) -> bool:
    """Return a real bool; 0, 1 and "true" are refused."""
    if not isinstance(value, bool):
        raise refuse(where, f"must be true or false, got {_kind(value)} {value!r:.80}")
    return value


def read_text(value: Any, where: str) -> str:
    """Return a text that keys can type: no control characters but newline, carriage return, tab and backspace."""
    if not isinstance(value, str):
        raise refuse(where, f"must be a string, got {_kind(value)} {value!r:.80}")
    if len(value) > LONGEST_TEXT:
        raise refuse(where, f"has {len(value)} characters, more than {LONGEST_TEXT}; send it in parts")
    for index, char in enumerate(value):
        if not is_typable(char):
            raise refuse(
                where, f"no key types {char!r} (U+{ord(char):04X}) at index {index}; name keys in keyboard.keys"
            )
    return value


def read_dict(value: Any, where: str, allowed: Iterable[str]) -> Mapping[str, Any]:
    """Return a non-empty dict whose keys are all in ``allowed``; an unknown one raises with near matches."""
    if not isinstance(value, Mapping):
        raise refuse(where, f"must be a dict, got {_kind(value)} {value!r:.80}")
    refuse_unknown(value, where, allowed)
    if not value:
        raise refuse(where, f"is empty; it may hold {', '.join(allowed)}")
    return value


def refuse_unknown(value: Mapping[Any, Any], where: str, allowed: Iterable[str]) -> None:
    """Raise for a key that is not in ``allowed``, with near matches: nothing is silently ignored."""
    import difflib

    known = list(allowed)
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(str(key)[:64].lower(), known, n=3, cutoff=0.6)
            hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"
            raise refuse(where, f"unknown key {key!r:.80}; {hint}", near=near)


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
