"""Typed actions: what a parsed action is once nothing about it is in doubt.

Outside, actions are dicts (contract of ``env.step``); inside, they are the frozen values below. ``parse.py`` is the
only way from one to the other, so whoever holds a value of this module may rely on:

* coordinates are ints in guest screen pixels, origin top-left, inside the screen the parser was told of
  (``screen=None`` means that the bound was not known; they are still not negative);
* keys are canonical X11 keysym names (``Control_L``, ``Return``, ``a``, ``U20AC`` …) that ``keys.keysym_of`` knows;
* numbers are finite, durations not negative, tuples not empty;
* one ``InputOp`` is one indivisible gesture; the ops of an ``InputAction`` run in the order given.

``to_raw`` gives back a dict that parses to an equal value (a ``PassthroughAction`` gives its own dict).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Button = Literal["left", "middle", "right"]
BUTTONS: tuple[Button, ...] = ("left", "middle", "right")
Point: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[int, int, int, int]
"""x, y, width, height in guest pixels."""


@dataclass(frozen=True, slots=True)
class Click:
    """Move to (x, y), then press and release ``button`` ``count`` times inside the guest's multi-click time."""

    button: Button
    x: int
    y: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Drag:
    """Press ``button`` at ``start``, move in steps to ``end``, release there: one press, one release."""

    button: Button
    start: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Move:
    """Move the pointer to (x, y) without touching a button."""

    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Buttons:
    """Press or release buttons where the pointer is; ``changes`` are (button, down) in the order to apply."""

    changes: tuple[tuple[Button, bool], ...]


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel where the pointer is, in wheel clicks: ``dy`` positive = down, ``dx`` positive = right."""

    dx: int
    dy: int


@dataclass(frozen=True, slots=True)
class TypeText:
    r"""Type ``text`` exactly: any Unicode; ``\n`` and ``\r`` are Return, ``\t`` Tab, ``\b`` BackSpace. Never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class PressKeys:
    """Press ``keys`` in order, release them in reverse: a chord (canonical keysym names)."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeysDown:
    """Press ``keys`` in order and hold them across actions until ``KeysUp`` or the end of the episode."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeysUp:
    """Release ``keys`` in order; releasing a key that is not held is allowed and does nothing."""

    keys: tuple[str, ...]


InputOp: TypeAlias = Click | Drag | Move | Buttons | Scroll | TypeText | PressKeys | KeysDown | KeysUp


@dataclass(frozen=True, slots=True)
class InputAction:
    """Mouse and keyboard input of one action dict.

    Attributes:
        ops: in the contract's fixed order (left, right, middle, double, triple click, left drag, right drag, move,
            buttons, scroll, text, keys, keys_down, keys_up). Empty when the dict asked for input without effect, such
            as a scroll by 0 or an empty text.
        role: the multi-agent role that sent it, if any.
    """

    ops: tuple[InputOp, ...]
    role: str | None = None

    def to_raw(self) -> dict[str, Any]:
        """Return a dict that parses to an equal action.

        Raises: ValueError when ``ops`` are not what one dict can say (two clicks of one kind, or another order): such a
            value did not come from the parser.
        """
        from gym_anything.actions.unparse import raw_of_input

        return raw_of_input(self)


@dataclass(frozen=True, slots=True)
class WaitAction:
    """Let ``seconds`` of the world's time pass; a runner with its own clock receives it instead of core sleeping."""

    seconds: float
    role: str | None = None

    def to_raw(self) -> dict[str, Any]:
        """Return a dict that parses to an equal action."""
        return _with_role({"action": "wait", "time": self.seconds}, self.role)


@dataclass(frozen=True, slots=True)
class ScreenshotAction:
    """No input; the observation follows anyway."""

    role: str | None = None

    def to_raw(self) -> dict[str, Any]:
        """Return a dict that parses to an equal action."""
        return _with_role({"action": "screenshot"}, self.role)


@dataclass(frozen=True, slots=True)
class SettleAction:
    """Return once the screen has been still for ``quiet_ms``, or after ``max_ms``; ``info`` says which.

    Changes inside the boxes of ``ignore`` do not count.
    """

    quiet_ms: int = 100
    max_ms: int = 2000
    role: str | None = None
    ignore: tuple[Box, ...] = ()

    def to_raw(self) -> dict[str, Any]:
        """Return a dict that parses to an equal action."""
        raw: dict[str, Any] = {"action": "settle", "quiet_ms": self.quiet_ms, "max_ms": self.max_ms}
        if self.ignore:
            raw["ignore"] = [list(box) for box in self.ignore]
        return _with_role(raw, self.role)


@dataclass(frozen=True, slots=True)
class PassthroughAction:
    """An action core does not know; handed to the runner as it came, which accepts it or raises.

    ``raw`` is a private copy of the caller's dict; treat it as read-only.
    """

    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def role(self) -> str | None:
        """The multi-agent role that sent it, if any."""
        role = self.raw.get("_role")
        return role if isinstance(role, str) else None

    def to_raw(self) -> dict[str, Any]:
        """Return the dict as it came (a shallow copy)."""
        return dict(self.raw)


Action: TypeAlias = InputAction | WaitAction | ScreenshotAction | SettleAction | PassthroughAction


def _with_role(raw: dict[str, Any], role: str | None) -> dict[str, Any]:
    return raw if role is None else {**raw, "_role": role}
