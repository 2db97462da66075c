"""The strict parser: each action a correct value or a typed error, nothing guessed, nothing ignored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gym_anything.actions.model import (
    Buttons,
    Click,
    Drag,
    InputAction,
    KeysDown,
    KeysUp,
    Move,
    PassthroughAction,
    PressKeys,
    ScreenshotAction,
    Scroll,
    SettleAction,
    TypeText,
    WaitAction,
)
from gym_anything.actions.parse import parse_action, parse_actions
from gym_anything.errors import ActionError

pytestmark = pytest.mark.unit

SCREEN = (1920, 1080)


def ops(raw: dict[str, Any], screen: tuple[int, int] | None = SCREEN) -> tuple[Any, ...]:
    action = parse_action(raw, screen=screen)
    assert isinstance(action, InputAction)
    return action.ops


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"mouse": {"left_click": [10, 20]}}, Click("left", 10, 20, 1)),
        ({"mouse": {"right_click": [10, 20]}}, Click("right", 10, 20, 1)),
        ({"mouse": {"middle_click": [10, 20]}}, Click("middle", 10, 20, 1)),
        ({"mouse": {"double_click": [10, 20]}}, Click("left", 10, 20, 2)),
        ({"mouse": {"triple_click": (10, 20)}}, Click("left", 10, 20, 3)),
        ({"mouse": {"left_click_drag": [[1, 2], [3, 4]]}}, Drag("left", (1, 2), (3, 4))),
        ({"mouse": {"right_click_drag": [[1, 2], [3, 4]]}}, Drag("right", (1, 2), (3, 4))),
        ({"mouse": {"move": [0, 0]}}, Move(0, 0)),
        ({"mouse": {"buttons": {"left_down": True}}}, Buttons((("left", True),))),
        ({"mouse": {"buttons": {"right_up": True, "left_down": True}}}, Buttons((("left", True), ("right", False)))),
        ({"mouse": {"scroll": 3}}, Scroll(0, 3)),
        ({"mouse": {"scroll": -3, "hscroll": 2}}, Scroll(2, -3)),
        ({"keyboard": {"text": "a\tb\n"}}, TypeText("a\tb\n")),
        ({"keyboard": {"keys": ["ctrl", "s"]}}, PressKeys(("Control_L", "s"))),
        ({"keyboard": {"keys": "Return"}}, PressKeys(("Return",))),
        ({"keyboard": {"keys_down": ["shift"]}}, KeysDown(("Shift_L",))),
        ({"keyboard": {"keys_up": "shift"}}, KeysUp(("Shift_L",))),
    ],
)
def test_each_input_key_of_the_contract(raw: dict[str, Any], expected: object) -> None:
    assert ops(raw) == (expected,)


def test_zero_is_a_coordinate_and_the_last_pixel_too() -> None:
    """P1: 0 is a coordinate."""
    assert ops({"mouse": {"left_click": [0, 0]}}) == (Click("left", 0, 0),)
    assert ops({"mouse": {"left_click": [1919, 1079]}}) == (Click("left", 1919, 1079),)


@pytest.mark.parametrize("point", [[1920, 0], [0, 1080], [-1, 0], [0, -1], [10**9, 0]])
def test_a_point_off_the_screen_is_refused(point: list[int]) -> None:
    for key in ("left_click", "move", "double_click"):
        with pytest.raises(ActionError, match="outside the 1920x1080 screen"):
            parse_action({"mouse": {key: point}}, screen=SCREEN)
    with pytest.raises(ActionError, match="outside"):
        parse_action({"mouse": {"left_click_drag": [[0, 0], point]}}, screen=SCREEN)


def test_without_a_known_screen_only_impossible_points_are_refused() -> None:
    assert ops({"mouse": {"left_click": [5000, 4000]}}, None) == (Click("left", 5000, 4000),)
    for point in ([-1, 0], [40000, 0]):
        with pytest.raises(ActionError):
            parse_action({"mouse": {"left_click": point}}, screen=None)


@pytest.mark.parametrize(
    "bad", [True, False, "1", "", None, math.nan, math.inf, -math.inf, 1.5, [1], {"x": 1}, 1j, 10**400, b"1"]
)
def test_only_whole_finite_numbers_are_numbers(bad: Any) -> None:
    for raw in (
        {"mouse": {"left_click": [bad, 1]}},
        {"mouse": {"left_click": [1, bad]}},
        {"mouse": {"move": [bad, 1]}},
        {"mouse": {"left_click_drag": [[1, 1], [1, bad]]}},
        {"mouse": {"scroll": bad}},
        {"mouse": {"hscroll": bad}},
    ):
        with pytest.raises(ActionError):
            parse_action(raw, screen=SCREEN)


def test_numpy_numbers_and_integral_floats_are_numbers() -> None:
    assert ops({"mouse": {"left_click": [np.int64(3), np.float32(4)]}}) == (Click("left", 3, 4),)
    assert ops({"mouse": {"left_click": [3.0, -0.0]}}) == (Click("left", 3, 0),)
    with pytest.raises(ActionError):
        parse_action({"mouse": {"left_click": [np.bool_(True), 1]}}, screen=SCREEN)


def test_several_keys_run_in_the_contracts_order_whatever_the_dicts() -> None:
    """Left, right, middle, double, triple, left drag, right drag, move, buttons, scroll, text, keys, down, up."""
    mouse = {
        "scroll": 1,
        "buttons": {"middle_up": True},
        "move": [8, 8],
        "right_click_drag": [[7, 7], [7, 8]],
        "left_click_drag": [[6, 6], [6, 7]],
        "triple_click": [5, 5],
        "double_click": [4, 4],
        "middle_click": [3, 3],
        "right_click": [2, 2],
        "left_click": [1, 1],
    }
    keyboard = {"keys_up": ["a"], "keys_down": ["b"], "keys": ["c"], "text": "d"}
    assert ops({"keyboard": keyboard, "mouse": mouse}) == (
        Click("left", 1, 1),
        Click("right", 2, 2),
        Click("middle", 3, 3),
        Click("left", 4, 4, 2),
        Click("left", 5, 5, 3),
        Drag("left", (6, 6), (6, 7)),
        Drag("right", (7, 7), (7, 8)),
        Move(8, 8),
        Buttons((("middle", False),)),
        Scroll(0, 1),
        TypeText("d"),
        PressKeys(("c",)),
        KeysDown(("b",)),
        KeysUp(("a",)),
    )


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"action": "wait", "time": 0.5}, WaitAction(0.5)),
        ({"type": "wait", "seconds": 2}, WaitAction(2.0)),
        ({"action": "wait", "time": 0}, WaitAction(0.0)),
        ({"action": "wait"}, WaitAction(1.0)),
        ({"action": "screenshot"}, ScreenshotAction()),
        ({"type": "screenshot", "_role": "a"}, ScreenshotAction("a")),
        ({"action": "settle"}, SettleAction(100, 2000)),
        ({"action": "settle", "quiet_ms": 5, "max_ms": 50}, SettleAction(5, 50)),
        ({"action": "settle", "ignore": []}, SettleAction()),
        (
            {"action": "settle", "ignore": [[0, 0, 1, 1], (9, 8, 7, 6)]},
            SettleAction(ignore=((0, 0, 1, 1), (9, 8, 7, 6))),
        ),
    ],
)
def test_control_actions(raw: dict[str, Any], expected: object) -> None:
    assert parse_action(raw, screen=SCREEN) == expected


@pytest.mark.parametrize(
    "raw",
    [
        {"action": "wait", "time": -1},
        {"action": "wait", "time": "1"},
        {"action": "wait", "time": True},
        {"action": "wait", "time": math.nan},
        {"action": "wait", "time": None},
        {"action": "wait", "time": 10**9},
        {"action": "wait", "time": 1, "seconds": 1},
        {"action": "wait", "tme": 1},
        {"action": "screenshot", "mouse": {"left_click": [1, 1]}},
        {"action": "screenshot", "type": "screenshot"},
        {"action": "settle", "quiet_ms": 1.5},
        {"action": "settle", "max_ms": -1},
        {"action": "settle", "ignore": [0, 0, 1, 1]},
        {"action": "settle", "ignore": [[0, 0, 1]]},
        {"action": "settle", "ignore": [[0, 0, 0, 1]]},
        {"action": "settle", "ignore": [[-1, 0, 5, 5]]},
        {"action": "settle", "ignore": [[0, 0, 0.5, 1]]},
        {"action": "settle", "ignore": [[0, 0, 10_000, 1]]},
        {"action": "settle", "ignore": [[0, 0, 1, 1]] * 17},
        {"action": "settle", "ignore": "all"},
    ],
)
def test_a_bad_control_action_is_an_error(raw: dict[str, Any]) -> None:
    with pytest.raises(ActionError):
        parse_action(raw, screen=SCREEN)


@pytest.mark.parametrize(
    "raw",
    [
        {"voice": "hello"},
        {"api_call": {"name": "x"}},
        {"action": "step_sim", "steps": 4},
        {"type": "telemetry"},
        {"mouse": {"left_click": [1, 1]}, "voice": "hello"},
    ],
)
def test_what_core_does_not_know_is_passed_on_as_it_came(raw: dict[str, Any]) -> None:
    action = parse_action(raw, screen=SCREEN)
    assert isinstance(action, PassthroughAction)
    assert action.raw == raw
    assert action.to_raw() is not raw


def test_input_beside_an_unknown_kind_is_checked_all_the_same() -> None:
    with pytest.raises(ActionError):
        parse_action({"mouse": {"left_click": [9999, 1]}, "voice": "hello"}, screen=SCREEN)


@pytest.mark.parametrize(
    ("raw", "near"),
    [
        ({"mouse": {"left_clik": [1, 1]}}, "left_click"),
        ({"mouse": {"Scroll": 1}}, "scroll"),
        ({"keyboard": {"txt": "a"}}, "text"),
        ({"keyboard": {"key": "a"}}, "keys"),
        ({"mouse": {"buttons": {"left_dwn": True}}}, "left_down"),
    ],
)
def test_an_unknown_sub_key_is_an_error_that_names_near_matches(raw: dict[str, Any], near: str) -> None:
    with pytest.raises(ActionError) as caught:
        parse_action(raw, screen=SCREEN)
    assert near in str(caught.value)
    assert near in caught.value.detail["near"]


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "click",
        {},
        {"_role": "a"},
        {"_role": 3, "mouse": {"scroll": 1}},
        {1: 2},
        {"mouse": None},
        {"mouse": {}},
        {"mouse": [1, 2]},
        {"keyboard": {}},
        {"keyboard": "a"},
        {"mouse": {"left_click": None}},
        {"mouse": {"left_click": [1]}},
        {"mouse": {"left_click": [1, 2, 3]}},
        {"mouse": {"left_click": {"x": 1, "y": 2}}},
        {"mouse": {"left_click": "1,2"}},
        {"mouse": {"left_click_drag": [[1, 2]]}},
        {"mouse": {"left_click_drag": [1, 2, 3, 4]}},
        {"mouse": {"buttons": {}}},
        {"mouse": {"buttons": {"left_down": 1}}},
        {"mouse": {"scroll": 10_001}},
        {"keyboard": {"text": 5}},
        {"keyboard": {"text": "\x00"}},
        {"keyboard": {"text": "\x1b[A"}},
        {"keyboard": {"text": "\ud800"}},
        {"keyboard": {"keys": []}},
        {"keyboard": {"keys": [1]}},
        {"keyboard": {"keys": None}},
        {"keyboard": {"keys": ["a", "a"]}},
        {"keyboard": {"keys": ["nosuch"]}},
    ],
)
def test_a_malformed_action_is_an_error(raw: Any) -> None:
    with pytest.raises(ActionError):
        parse_action(raw, screen=SCREEN)


@pytest.mark.parametrize(
    "raw", [{"keyboard": {"text": ""}}, {"mouse": {"scroll": 0}}, {"mouse": {"buttons": {"left_down": False}}}]
)
def test_input_that_asks_for_nothing_is_an_action_without_ops(raw: dict[str, Any]) -> None:
    assert ops(raw) == ()


@pytest.mark.parametrize("text", ['"; rm -rf /', "-0.07", "--help", "%s %n & \\ `id` $(id)", "a\n\n", "  \t "])
def test_text_is_data_and_survives_exactly(text: str) -> None:
    """T1, T7: text is never code or an option; white space and trailing newlines survive."""
    assert ops({"keyboard": {"text": text}}) == (TypeText(text),)


def test_a_list_is_parsed_whole_and_the_error_names_the_index() -> None:
    actions = parse_actions([{"mouse": {"move": [1, 1]}}, {"action": "screenshot"}], screen=SCREEN)
    assert actions == [InputAction((Move(1, 1),)), ScreenshotAction()]
    assert parse_actions([], screen=SCREEN) == []
    assert parse_actions({"action": "screenshot"}, screen=SCREEN) == [ScreenshotAction()]
    with pytest.raises(ActionError, match=r"action 1: mouse\.move") as caught:
        parse_actions([{"mouse": {"move": [1, 1]}}, {"mouse": {"move": [1, -1]}}], screen=SCREEN)
    assert caught.value.detail["index"] == 1
    for wrong in (None, "click", 3, {1, 2}):
        with pytest.raises(ActionError):
            parse_actions(wrong, screen=SCREEN)


def test_an_action_value_that_no_dict_can_say_refuses_to_become_one() -> None:
    for ops_ in ((Move(1, 1), Click("left", 1, 1)), (Move(1, 1), Move(2, 2)), (Click("right", 1, 1, 2),)):
        with pytest.raises(ValueError, match=r"one action dict|no action key"):
            InputAction(ops_).to_raw()


def test_an_error_blames_the_policy_and_says_where() -> None:
    with pytest.raises(ActionError) as caught:
        parse_action({"keyboard": {"keys": ["ctl", "nosuch"]}}, screen=SCREEN)
    assert caught.value.blame == "policy"
    assert caught.value.detail["where"] == "keyboard.keys"
    assert caught.value.detail["key"] == "nosuch"
