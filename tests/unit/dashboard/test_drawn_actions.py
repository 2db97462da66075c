"""Actions in words and marks, as they were parsed when they were done."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.dashboard.drawn_actions import Pen

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("raw", "text", "kinds"),
    [
        ({"mouse": {"left_click": [3, 4]}}, "left click at 3, 4", ["click"]),
        ({"mouse": {"double_click": [3, 4]}}, "left double click at 3, 4", ["click"]),
        ({"mouse": {"left_click_drag": [[1, 2], [3, 4]]}}, "left drag from 1, 2 to 3, 4", ["drag"]),
        ({"mouse": {"move": [5, 6], "scroll": -3}}, "move to 5, 6, then scroll up 3", ["move", "scroll"]),
        ({"keyboard": {"text": 'a "b"\n'}}, 'type "a \\"b\\"\\n"', ["keys"]),
        ({"keyboard": {"keys": ["ctrl", "s"]}}, "press Ctrl+s", ["keys"]),
        ({"action": "wait", "time": 1.5}, "wait 1.5 s", []),
        ({"action": "screenshot"}, "look", []),
        ({"mouse": {"left_click": "here"}}, '{"mouse": {"left_click": "here"}}', []),
        ("nonsense", '"nonsense"', []),
        (None, "null", []),
    ],
    ids=repr,
)
def test_an_action_in_words(raw: Any, text: str, kinds: list[str]) -> None:
    drawn = Pen().draw(raw)
    assert (drawn["text"], [mark["kind"] for mark in drawn["marks"]]) == (text, kinds)


def test_keys_are_drawn_where_the_pointer_was_left() -> None:
    pen = Pen()
    assert pen.draw({"keyboard": {"text": "x"}})["marks"][0]["at"] is None
    pen.draw({"mouse": {"left_click_drag": [[1, 2], [30, 40]]}})
    assert pen.draw({"keyboard": {"text": "x"}})["marks"] == [{"kind": "keys", "at": [30, 40], "text": "x"}]


def test_what_is_very_long_is_cut() -> None:
    assert len(Pen().draw({"other": "x" * 5000})["text"]) == 300
