"""Anthropic's computer tool: its actions as ours. Pure.

Source: the tool's definitions in the official SDK (``computer_20241022`` … ``computer_toolset_20260801``): coordinates
are pixels of the declared display; keys are chords as xdotool writes them; the wheel counts clicks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gym_anything.actions.chords import keys_of
from gym_anything.actions.coords import CoordinateSpace
from gym_anything.actions.model import Box, Point
from gym_anything.actions.parse import parse_actions
from gym_anything.agents import gestures
from gym_anything.errors import ActionError

_CLICKS = ("left_click", "right_click", "middle_click", "double_click", "triple_click")
_DIRECTIONS = {"down": (1, 0), "up": (-1, 0), "right": (0, 1), "left": (0, -1)}
_MOST_WHEEL = 100
_LONGEST_WAIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one call of the tool wants.

    Attributes:
        actions: to do; one that does nothing when only a look is wanted.
        pointer: where the pointer is afterwards, in screen pixels; None when nobody knows.
        said: text for the tool's result, when it asks for a fact.
        region: the part of the screen that it wants to see enlarged, in screen pixels.
    """

    actions: list[dict[str, Any]]
    pointer: Point | None
    said: str | None = None
    region: Box | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """The screen as the tool has been told about it."""

    space: CoordinateSpace
    screen: tuple[int, int]

    def wanted(self, name: str, arguments: Mapping[str, Any], pointer: Point | None) -> Wanted:
        """Return what a call wants. Raises: ActionError in the model's own units; nothing is to be done then."""
        wanted = self._wanted(name, arguments, pointer)
        parse_actions(wanted.actions, screen=self.screen)
        return wanted

    def _wanted(self, name: str, given: Mapping[str, Any], pointer: Point | None) -> Wanted:
        match name:
            case "screenshot":
                return Wanted([{"action": "screenshot"}], pointer)
            case "cursor_position":
                return Wanted([{"action": "screenshot"}], pointer, said=self._pointer_text(pointer))
            case "zoom":
                return Wanted([{"action": "screenshot"}], pointer, region=self._region(given.get("region")))
            case "wait":
                return Wanted([{"action": "wait", "time": _number(given, "duration", 1.0, _LONGEST_WAIT_S)}], pointer)
            case "type":
                return Wanted([{"keyboard": {"text": _text(given)}}], pointer)
            case "key":
                return Wanted(gestures.press(_text(given), int(_number(given, "repeat", 1, 100))), pointer)
            case "hold_key":
                return Wanted(gestures.hold(_text(given), _number(given, "duration", 1.0, 300.0)), pointer)
            case _:
                return self._by_mouse(name, given, pointer)

    def _by_mouse(self, name: str, given: Mapping[str, Any], pointer: Point | None) -> Wanted:
        held = keys_of(_text(given)) if given.get("text") else ()
        point = self._point(given, "coordinate")
        if name in _CLICKS:
            return Wanted(gestures.holding(held, gestures.click(name, point)), point or pointer)
        if name == "mouse_move":
            point = _needed(point, name)
            return Wanted([{"mouse": {"move": list(point)}}], point)
        if name == "left_click_drag":
            start, end = self._point(given, "start_coordinate") or pointer, _needed(point, name)
            path = [_needed(start, f"{name}.start_coordinate"), end]
            return Wanted(gestures.holding(held, gestures.drag(path)), end)
        if name in ("left_mouse_down", "left_mouse_up"):
            change = {"left_down" if name.endswith("down") else "left_up": True}
            return Wanted([{"mouse": {"buttons": change}}], pointer)
        if name == "scroll":
            direction = _DIRECTIONS.get(str(given.get("scroll_direction")))
            if direction is None:
                raise ActionError(
                    f"scroll_direction must be up, down, left or right: {given.get('scroll_direction')!r:.40}"
                )
            clicks = int(_number(given, "scroll_amount", 3, _MOST_WHEEL))
            turn = gestures.wheel(point, down=direction[0] * clicks, right=direction[1] * clicks)
            return Wanted(gestures.holding(held, turn), point or pointer)
        raise ActionError(f"the computer tool has no action {name!r:.60}")

    def _point(self, given: Mapping[str, Any], key: str) -> Point | None:
        value = given.get(key)
        return None if value is None else self.space.to_screen(value, self.screen, where=key)

    def _region(self, value: Any) -> Box:
        if not isinstance(value, list | tuple) or len(value) != 4:
            raise ActionError(f"region must be [x0, y0, x1, y1], got {value!r:.80}")
        # The far corner may lie on the edge itself, one past the last pixel.
        near = self.space.to_screen(value[:2], self.screen, where="region")
        far = self.space.to_screen([_inside(value[2]), _inside(value[3])], self.screen, where="region")
        width, height = far[0] - near[0] + 1, far[1] - near[1] + 1
        if width < 2 or height < 2:
            raise ActionError(f"region {value!r:.80} is empty; it is [x0, y0, x1, y1]")
        return near[0], near[1], width, height

    def _pointer_text(self, pointer: Point | None) -> str:
        if pointer is None:
            return "the pointer has not been moved yet, so its position is not known"
        x, y = self.space.from_screen(pointer, self.screen)
        return f"X={int(x)},Y={int(y)}"


def _inside(value: Any) -> Any:
    return value - 1 if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 else value


def _needed(point: Point | None, where: str) -> Point:
    if point is None:
        raise ActionError(f"{where} needs a coordinate [x, y]")
    return point


def _text(given: Mapping[str, Any]) -> str:
    value = given.get("text")
    if not isinstance(value, str) or not value:
        raise ActionError(f"text is needed, got {value!r:.60}")
    return value


def _number(given: Mapping[str, Any], key: str, default: float, most: float) -> float:
    value = given.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ActionError(f"{key} must be a number from 0 to {most:g}, got {value!r:.60}")
    return float(value)
