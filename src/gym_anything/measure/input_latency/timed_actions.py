"""The actions that are timed: each kind of input once, at another place every time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gym_anything.actions.parse import parse_action
from gym_anything.errors import ActionError

Action = dict[str, Any]
Box = tuple[int, int, int, int]
WORDS = "the quick brown fox."


@dataclass(frozen=True, slots=True)
class TimedAction:
    """One kind of action.

    Attributes:
        key: names it for programs.
        title: what people read.
        make: returns the action for a number: no two in a row are in the same place.
        after: done, and not timed, after each: what it opened is closed again.
        presses, keys, motions: how many buttons and keys it and what is done after it press, and how often it moves the
            pointer at least.
        is_text: the number of keys is the least there must be.
    """

    key: str
    title: str
    make: Callable[[int], Action]
    after: tuple[Action, ...] = field(default=())
    presses: int = 0
    keys: int = 0
    motions: int = 0
    is_text: bool = False


def usual_actions(box: Box) -> list[TimedAction]:
    """Return the actions that every desktop takes, done inside a part of the screen."""
    x, y, width, height = box

    def point(number: int, dx: int = 0) -> list[int]:
        return [x + width // 8 + (number * 37) % (width // 2) + dx, y + height // 4 + (number * 23) % (height // 2)]

    def drag(number: int) -> Action:
        return {"mouse": {"left_click_drag": [point(number), point(number, width // 5)]}}

    def at(word: str) -> Callable[[int], Action]:
        return lambda number: {"mouse": {word: point(number)}}

    def wheel(number: int) -> Action:
        return {"mouse": {"scroll": 3 if number % 2 else -3}}

    def key(number: int) -> Action:
        return {"keyboard": {"keys": ["Down" if number % 2 else "Up"]}}

    def chord(number: int) -> Action:
        return {"keyboard": {"keys": ["ctrl", "Home"]}}

    def text(number: int) -> Action:
        return {"keyboard": {"text": WORDS}}

    typed = f"text of {len(WORDS)} characters"
    escape: Action = {"keyboard": {"keys": ["Escape"]}}
    return [
        TimedAction("move", "move", at("move"), motions=1),
        TimedAction("click", "click", at("left_click"), presses=1),
        TimedAction("double_click", "double click", at("double_click"), presses=2),
        TimedAction("triple_click", "triple click", at("triple_click"), presses=3),
        TimedAction("right_click", "right click", at("right_click"), (escape,), presses=1, keys=1),
        TimedAction("drag", "drag", drag, presses=1, motions=2),
        TimedAction("scroll", "3 wheel clicks", wheel, presses=3),
        TimedAction("key", "key", key, keys=1),
        TimedAction("chord", "chord of two keys", chord, keys=2),
        TimedAction("text", typed, text, keys=len(WORDS), is_text=True),
    ]  # fmt: skip


def given_action(text: str, screen: tuple[int, int] | None) -> TimedAction:
    """Return an action that the caller wrote as JSON. Raises: ActionError where it is none."""
    try:
        action = json.loads(text)
    except ValueError as error:
        raise ActionError(f"the action {text!r} is no JSON: {error}") from error
    parse_action(action, screen=screen)
    return TimedAction(text, text, lambda number: action)
