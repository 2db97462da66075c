"""What verifiers return: taken when it is clear, refused when it is doubtful."""

from __future__ import annotations

import math
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.verification.judge_process.messages import (
    receive_message,
    send_message,
)
from gym_anything.verification.judge_process.returned import InvalidReturn, plain_number, plain_verdict

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("returned", "passed", "score"),
    [
        ({"passed": True}, True, None),
        ({"passed": False, "score": 40}, False, 40.0),
        ({"passed": np.bool_(True), "score": np.float64(120)}, True, 100.0),
        ({"passed": 1, "score": np.int64(-5)}, True, 0.0),
        ({"passed": "", "score": None}, False, None),
        ({"passed": None}, False, None),
        ({"passed": [], "score": 5}, False, 5.0),
    ],
)
def test_clear_verdicts_are_taken(returned: Any, passed: bool, score: float | None) -> None:
    plain = plain_verdict(returned)
    assert plain["passed"] is passed and plain["score"] == score


@pytest.mark.parametrize(
    "returned",
    [
        None, True, 5, "passed", [], {}, {"score": 100}, {"passed": "false"}, {"passed": "yes"}, {"passed": [0]},
        {"passed": math.nan}, {"passed": np.array([True, False])}, {"passed": object()}, {"passed": True, "score": "9"},
        {"passed": True, "score": math.nan}, {"passed": True, "score": math.inf}, {"passed": True, "score": True},
        {"passed": True, "score": [1]},
    ],
)  # fmt: skip
def test_doubtful_verdicts_are_refused(returned: Any) -> None:
    """V2: nonsense is broken, not 0."""
    with pytest.raises(InvalidReturn):
        plain_verdict(returned)


def test_endless_feedback_is_cut_and_says_so() -> None:
    """V8: results keep what a person reads, not what a verifier dumps."""
    plain = plain_verdict({"passed": True, "feedback": "x" * 5_000_000})
    assert len(plain["feedback"]) < 21_000
    assert plain["feedback"].endswith("(4980000 more characters left out)")


def test_extras_become_plain_json_and_feedback_text() -> None:
    plain = plain_verdict(
        {"passed": True, "feedback": ["a", "b"], "subscores": {"x": np.float32(0.5), 3: math.nan}, "path": Path("/a"),
         "set": {1}, "deep": None}
    )  # fmt: skip
    assert plain["feedback"] == "a\nb"
    assert plain["extra"] == {"subscores": {"x": 0.5, "3": None}, "path": "/a", "set": [1], "deep": None}
    cyclic: dict[str, Any] = {}
    cyclic["self"] = cyclic
    assert plain_verdict({"passed": True, "x": cyclic})["passed"]


def test_rewards_are_finite_numbers() -> None:
    assert plain_number(np.float32(0.5)) == 0.5 and plain_number(-3) == -3.0
    for wrong in (None, True, "1", math.nan, math.inf, [1]):
        with pytest.raises(InvalidReturn):
            plain_number(wrong)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4),
    max_leaves=12,
)


RETURNS = st.fixed_dictionaries(
    {}, optional={"passed": ANYTHING, "score": ANYTHING, "feedback": ANYTHING, "x": ANYTHING}
)


@settings(max_examples=2000, deadline=None)
@given(RETURNS | ANYTHING)
def test_any_return_is_a_verdict_or_a_clear_refusal(returned: Any) -> None:
    try:
        plain = plain_verdict(returned)
    except InvalidReturn as error:
        assert str(error)
        return
    assert isinstance(plain["passed"], bool) and isinstance(plain["feedback"], str)
    assert plain["score"] is None or 0 <= plain["score"] <= 100
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send_message(ours, plain)  # it is JSON without NaN
        receive_message(theirs)
