"""OpenAI's computer-use tool: its actions as ours. Pure.

Source: the tool's types in the official SDK: coordinates are pixels of the screenshot, scrolling is in pixels, keys are
lists of names such as ``["CTRL", "C"]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_anything.actions.chords import chord
from gym_anything.actions.coords import CoordinateSpace
from gym_anything.actions.model import Point
from gym_anything.actions.parse import parse_actions
from gym_anything.agents import gestures
from gym_anything.errors import ActionError

PIXELS_OF_A_WHEEL_CLICK = 100
"""What browsers scroll for about one click of the wheel."""
WAIT_S = 2.0
"""The tool's wait has no duration."""
_BUTTONS = {"left": "left_click", "right": "right_click", "wheel": "middle_click", "middle": "middle_click"}
_MOST_PIXELS = 100_000


@dataclass(frozen=True, slots=True)
class Tool:
    """The screen as the tool has been told about it."""

    space: CoordinateSpace
    screen: tuple[int, int]

    def actions(self, wanted: Sequence[Any]) -> list[dict[str, Any]]:
        """Return what a call's actions mean. Raises: ActionError; nothing of the call is to be done then."""
        found: list[dict[str, Any]] = []
        for action in wanted:
            if not isinstance(action, Mapping):
                raise ActionError(f"an action must be an object, got {action!r:.60}")
            found += self._one(action)
        parse_actions(found, screen=self.screen)
        return found

    def _one(self, action: Mapping[str, Any]) -> list[dict[str, Any]]:
        held = chord(_keys(action)) if action.get("keys") and action.get("type") != "keypress" else ()
        match action.get("type"):
            case "screenshot":
                return [{"action": "screenshot"}]
            case "wait":
                return [{"action": "wait", "time": WAIT_S}]
            case "type":
                text = action.get("text")
                if not isinstance(text, str):
                    raise ActionError(f"type needs a text, got {text!r:.60}")
                return [{"keyboard": {"text": text}}]
            case "keypress":
                return [{"keyboard": {"keys": list(chord(_keys(action)))}}]
            case "click":
                kind = _BUTTONS.get(str(action.get("button", "left")))
                if kind is None:
                    raise ActionError(f"there is no mouse button {action.get('button')!r:.40} here")
                return gestures.holding(held, gestures.click(kind, self._point(action)))
            case "double_click":
                return gestures.holding(held, gestures.click("double_click", self._point(action)))
            case "move":
                return gestures.holding(held, [{"mouse": {"move": list(self._point(action))}}])
            case "drag":
                path = action.get("path")
                if not isinstance(path, list):
                    raise ActionError(f"drag needs a path, got {path!r:.60}")
                return gestures.holding(held, gestures.drag([self._point(step) for step in path]))
            case "scroll":
                down, right = _clicks(action.get("scroll_y")), _clicks(action.get("scroll_x"))
                return gestures.holding(held, gestures.wheel(self._point(action), down=down, right=right))
        raise ActionError(f"the computer tool has no action {action.get('type')!r:.60}")

    def _point(self, place: Any) -> Point:
        pair = [place.get("x"), place.get("y")] if isinstance(place, Mapping) else place
        return self.space.to_screen(pair, self.screen, where="x, y")


def _keys(action: Mapping[str, Any]) -> list[str]:
    keys = action.get("keys")
    if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
        raise ActionError(f"keys must be a list of names, got {keys!r:.80}")
    return keys


def _clicks(pixels: Any) -> int:
    """Return the wheel clicks nearest to a number of pixels; a little is one, none is none."""
    if pixels is None:
        return 0
    if isinstance(pixels, bool) or not isinstance(pixels, int | float) or abs(pixels) > _MOST_PIXELS:
        raise ActionError(f"a scroll is a number of pixels, got {pixels!r:.60}")
    clicks = round(abs(pixels) / PIXELS_OF_A_WHEEL_CLICK) or (1 if pixels else 0)
    return clicks if pixels > 0 else -clicks
