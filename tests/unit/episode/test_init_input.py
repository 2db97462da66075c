"""``init_pyautogui`` as actions: read, never run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.actions.parse import parse_action
from gym_anything.episode.init_input import init_actions
from gym_anything.errors import GymAnythingError, SpecInvalid

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "keys", "keys": ["win", "r"]}, [{"keyboard": {"keys": ["win", "r"]}}]),
        ({"type": "wait", "seconds": 0.5}, [{"action": "wait", "time": 0.5}]),
        ({"type": "text", "text": "notepad"}, [{"keyboard": {"text": "notepad"}}]),
        ({"type": "click", "x": 1, "y": 0}, [{"mouse": {"left_click": [1, 0]}}]),
        ({"type": "click", "x": 1, "y": 2, "button": "right"}, [{"mouse": {"right_click": [1, 2]}}]),
        ({"type": "double_click", "position": [3, 4]}, [{"mouse": {"double_click": [3, 4]}}]),
        ({"type": "scroll", "amount": 3}, [{"mouse": {"scroll": 3}}]),
        ({"type": "drag", "start": [1, 2], "end": [3, 4]}, [{"mouse": {"left_click_drag": [[1, 2], [3, 4]]}}]),
        ({"mouse": {"move": [1, 1]}}, [{"mouse": {"move": [1, 1]}}]),
        ({"action": "wait", "time": 2}, [{"action": "wait", "time": 2}]),
        ("pyautogui.click(100, 200)", [{"mouse": {"left_click": [100, 200]}}]),
        ("pyautogui.click(x=1, y=2, clicks=2, interval=0.1)", [{"mouse": {"double_click": [1, 2]}}]),
        ("pyautogui.rightClick(5, 6, clicks=1)", [{"mouse": {"right_click": [5, 6]}}]),
        ("pyautogui.doubleClick(x=5, y=6)", [{"mouse": {"double_click": [5, 6]}}]),
        ("pyautogui.click((5, 6))", [{"mouse": {"left_click": [5, 6]}}]),
        ("import pyautogui; pyautogui.hotkey('ctrl', 's')", [{"keyboard": {"keys": ["ctrl", "s"]}}]),
        ("pyautogui.write('a;b', interval=0.1)", [{"keyboard": {"text": "a;b"}}]),
        ("pyautogui.press('enter', presses=2)", [{"keyboard": {"keys": "enter"}}] * 2),
        ("pyautogui.scroll(-3)", [{"mouse": {"scroll": 3}}]),
        ("pyautogui.scroll(clicks=3)", [{"mouse": {"scroll": -3}}]),
        ("time.sleep(1)", [{"action": "wait", "time": 1}]),
        (
            "pyautogui.moveTo(1, 2)\npyautogui.dragTo(3, 4, duration=1)",
            [{"mouse": {"move": [1, 2]}}, {"mouse": {"left_click_drag": [[1, 2], [3, 4]]}}],
        ),
        ("pyautogui.moveTo(1, 2); pyautogui.click()", [{"mouse": {"move": [1, 2]}}, {"mouse": {"left_click": [1, 2]}}]),
        ("pyautogui.keyDown('shift'); pyautogui.keyUp('shift')",
         [{"keyboard": {"keys_down": "shift"}}, {"keyboard": {"keys_up": "shift"}}]),
    ],
)  # fmt: skip
def test_dialects_become_actions_of_the_contract(item: Any, expected: list[dict[str, Any]]) -> None:
    assert init_actions([item]) == expected
    for action in init_actions(item):
        parse_action(action, screen=(1920, 1080))


@pytest.mark.parametrize(
    "item",
    [
        "__import__('os').system('true')",
        "pyautogui.click(open('/etc/passwd'))",
        "os.remove('x')",
        "x = 1",
        "pyautogui.alert('hi')",
        "pyautogui.click(",
        "pyautogui.click()",
        "pyautogui.dragTo(1, 2)",
        "pyautogui.press('a', presses=10**9)",
        "pyautogui.click(1, 2, clicks=9)",
        {"type": "teleport"},
        {"type": "click", "x": 1},
        {"type": "keys"},
        5,
        None,
        "(" * 5000,
    ],
)
def test_what_is_not_understood_is_refused_and_nothing_is_run(item: Any) -> None:
    """N6: no eval."""
    with pytest.raises(SpecInvalid, match=r"init_pyautogui\[0\]"):
        init_actions([item])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["type", "x", "y", "keys", "text", "seconds", "button", "clicks", "start", "end", "amount", "presses"]
)
KINDS = st.sampled_from(["click", "drag", "keys", "press", "text", "wait", "scroll", "move", "hotkey", "keyDown", "?"])
CALLS = st.builds(
    lambda name, arguments: f"pyautogui.{name}({', '.join(repr(a) for a in arguments)})",
    st.sampled_from(["click", "write", "press", "hotkey", "moveTo", "dragTo", "scroll", "sleep", "rightClick"]),
    st.lists(VALUES, max_size=4),
)


@settings(max_examples=1500, deadline=None)
@given(
    st.builds(lambda kind, rest: {**rest, "type": kind}, KINDS, st.dictionaries(KEYS, VALUES, max_size=4))
    | CALLS
    | VALUES
)
def test_any_item_is_actions_or_a_typed_error(item: Any) -> None:
    try:
        actions = init_actions([item])
        for action in actions:
            parse_action(action, screen=(100, 100))
    except GymAnythingError:
        pass
