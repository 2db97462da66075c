"""What models ask for, as actions of the contract: clicks with keys held, presses where the pointer is, wheel turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gym_anything.actions.chords import keys_of
from gym_anything.actions.model import Point
from gym_anything.errors import ActionError

Actions = list[dict[str, Any]]

LONGEST_HOLD_S = 300.0
MOST_REPEATS = 100


def click(kind: str, point: Point | None) -> Actions:
    """Click (``left_click``, ``double_click`` …) at a point, or where the pointer is."""
    if point is not None:
        return [{"mouse": {kind: list(point)}}]
    button = {"right_click": "right", "middle_click": "middle"}.get(kind, "left")
    times = {"double_click": 2, "triple_click": 3}.get(kind, 1)
    return [{"mouse": {"buttons": {f"{button}_down": True, f"{button}_up": True}}} for _ in range(times)]


def drag(path: Sequence[Point]) -> Actions:
    """Drag with the left button along a path of two or more points."""
    if len(path) < 2:
        raise ActionError(f"a drag needs two points or more, got {len(path)}")
    if len(path) == 2:
        return [{"mouse": {"left_click_drag": [list(path[0]), list(path[1])]}}]
    return [
        {"mouse": {"move": list(path[0])}},
        {"mouse": {"buttons": {"left_down": True}}},
        *({"mouse": {"move": list(point)}} for point in path[1:]),
        {"mouse": {"buttons": {"left_up": True}}},
    ]


def wheel(point: Point | None, *, down: int = 0, right: int = 0) -> Actions:
    """Turn the wheel by clicks; negative is up or left."""
    turn: dict[str, Any] = {"move": list(point)} if point is not None else {}
    if down:
        turn["scroll"] = down
    if right:
        turn["hscroll"] = right
    return [{"mouse": turn}] if turn else []


def press(text: str, repeat: int = 1) -> Actions:
    """Press a chord (``ctrl+s``), or several one after the other (``Down Down Return``)."""
    if not 1 <= repeat <= MOST_REPEATS:
        raise ActionError(f"a key is repeated 1 to {MOST_REPEATS} times, not {repeat}")
    try:
        chords = [keys_of(text)]
    except ActionError:
        pieces = text.split()
        if len(pieces) < 2:
            raise
        chords = [keys_of(piece) for piece in pieces]
    return [{"keyboard": {"keys": list(chord)}} for _ in range(repeat) for chord in chords]


def holding(keys: Sequence[str], actions: Actions) -> Actions:
    """Do something with keys held."""
    if not keys:
        return actions
    return [{"keyboard": {"keys_down": list(keys)}}, *actions, {"keyboard": {"keys_up": list(reversed(keys))}}]


def hold(text: str, seconds: float) -> Actions:
    """Hold a chord for a while."""
    if not 0 <= seconds <= LONGEST_HOLD_S:
        raise ActionError(f"a key is held 0 to {LONGEST_HOLD_S:g} seconds, not {seconds:g}")
    return holding(keys_of(text), [{"action": "wait", "time": seconds}])
