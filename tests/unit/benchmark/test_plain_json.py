"""Whatever an agent or verifier returns, the result can be written and read."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.benchmark.plain_json import DEEPEST, LONGEST_TEXT, plain_json

pytestmark = pytest.mark.unit


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_plain_values_stay_as_they_are() -> None:
    value = {"a": [1, 2.5, True, None, "é 🎉"], "b": {"c": []}}
    assert plain_json(value) == value


def test_what_json_cannot_say_becomes_text() -> None:
    assert plain_json([math.nan, math.inf, "\ud800", b"x", {1: (2,)}, {3}]) == [
        "nan",
        "inf",
        "\\ud800",
        "b'x'",
        {"1": [2]},
        [3],
    ]
    assert "cannot be shown" in plain_json(Unspeakable())


def test_what_holds_itself_or_is_too_long_is_cut_off() -> None:
    loop: list[Any] = []
    loop.append(loop)
    text = json.dumps(plain_json(loop))
    assert text.count("[") == DEEPEST
    assert len(plain_json("x" * (LONGEST_TEXT + 5))) == LONGEST_TEXT + 1


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)))  # fmt: skip
def test_anything_survives_the_trip(value: Any) -> None:
    plain = plain_json(value)
    assert json.loads(json.dumps(plain, allow_nan=False, ensure_ascii=False).encode("utf-8")) == plain
