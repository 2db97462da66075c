"""Property tests of the parser: thousands of well-formed, damaged and random actions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_anything.actions.key_table import key_table
from gym_anything.actions.model import Click, Drag, InputAction, Move, PassthroughAction, TypeText
from gym_anything.actions.parse import KEYBOARD_KEYS, MOUSE_KEYS, parse_action
from gym_anything.errors import ActionError

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 1280, 800
MANY = settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])

points = st.tuples(st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1)).map(list)
drags = st.lists(points, min_size=2, max_size=2)
buttons = st.dictionaries(
    st.sampled_from(["left_down", "left_up", "middle_down", "middle_up", "right_down", "right_up"]),
    st.booleans(),
    min_size=1,
)
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\r\t\b"), max_size=40)
keys = st.lists(st.sampled_from(sorted(key_table().name_of.values())), min_size=1, max_size=4, unique_by=str.lower)
mouse = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["left_click", "right_click", "middle_click", "double_click", "triple_click", "move"], points),
        **dict.fromkeys(["left_click_drag", "right_click_drag"], drags),
        "buttons": buttons,
        "scroll": st.integers(-50, 50),
        "hscroll": st.integers(-50, 50),
    },
).filter(bool)
keyboard = st.fixed_dictionaries(
    {}, optional={"text": texts, **dict.fromkeys(["keys", "keys_down", "keys_up"], keys)}
).filter(bool)
inputs = st.fixed_dictionaries(
    {}, optional={"mouse": mouse, "keyboard": keyboard, "_role": st.text(min_size=1)}
).filter(lambda raw: "mouse" in raw or "keyboard" in raw)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=4))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
names = st.sampled_from(
    ["mouse", "keyboard", "action", "type", "time", "seconds", "_role", *MOUSE_KEYS, *KEYBOARD_KEYS]
) | st.text(max_size=6)
anything = st.dictionaries(names, st.dictionaries(names, values, max_size=3) | values, max_size=3)


@MANY
@given(inputs)
def test_every_well_formed_input_parses_and_survives_the_round_trip(raw: dict[str, Any]) -> None:
    before = json.dumps(raw)
    action = parse_action(raw, screen=(WIDTH, HEIGHT))
    assert json.dumps(raw) == before
    assert isinstance(action, InputAction)
    assert parse_action(action.to_raw(), screen=(WIDTH, HEIGHT)) == action
    assert parse_action(json.loads(json.dumps(action.to_raw())), screen=(WIDTH, HEIGHT)) == action


@MANY
@given(inputs, st.data())
def test_one_damaged_value_is_an_error_or_still_exactly_right(raw: dict[str, Any], data: st.DataObject) -> None:
    device = data.draw(st.sampled_from([key for key in raw if key != "_role"]))
    key = data.draw(st.sampled_from(sorted(raw[device])))
    damaged = {**raw, device: {**raw[device], key: data.draw(values)}}
    try:
        action = parse_action(damaged, screen=(WIDTH, HEIGHT))
    except ActionError as error:
        assert str(error)
        return
    assert isinstance(action, InputAction)
    check_is_exactly(action, damaged)


@MANY
@given(st.one_of(anything, values))
def test_anything_at_all_is_a_typed_error_or_a_checked_action(raw: Any) -> None:
    try:
        action = parse_action(raw, screen=(WIDTH, HEIGHT))
    except ActionError as error:
        assert str(error)
        json.dumps(error.to_wire())
        return
    if isinstance(action, PassthroughAction):
        assert action.raw == raw or raw != raw or "nan" in repr(raw)
        assert set(raw) - {"mouse", "keyboard", "_role"}
    elif isinstance(action, InputAction):
        check_is_exactly(action, raw)


def check_is_exactly(action: InputAction, raw: dict[str, Any]) -> None:
    """Compare the parsed ops with the dict by a second, independent reading of it."""
    clicks = [op for op in action.ops if isinstance(op, Click)]
    asked = [value for key, value in raw.get("mouse", {}).items() if key.endswith("_click")]
    assert sorted([op.x, op.y] for op in clicks) == sorted([int(x), int(y)] for x, y in asked)
    for op in action.ops:
        if isinstance(op, Click | Move):
            assert 0 <= op.x < WIDTH
            assert 0 <= op.y < HEIGHT
        if isinstance(op, Drag):
            assert [list(op.start), list(op.end)] == [
                [int(v) for v in end] for end in raw["mouse"][f"{op.button}_click_drag"]
            ]
        if isinstance(op, TypeText):
            assert op.text == raw["keyboard"]["text"]
