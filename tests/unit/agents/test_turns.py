"""What ``step`` may return, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.agents.turns import AgentTurn, read_turns
from gym_anything.errors import AgentError

pytestmark = pytest.mark.unit

CLICK = {"mouse": {"left_click": [1, 1]}}


def test_turns_are_read_in_order_with_their_metadata() -> None:
    answer = [{"tool_id": "a", "actions": [CLICK]}, {"tool_id": 7, "actions": CLICK, "metadata": {"thought": "x"}}]
    assert read_turns(answer) == [AgentTurn("a", (CLICK,)), AgentTurn("7", (CLICK,), {"thought": "x"})]
    assert read_turns([{"actions": []}]) == [AgentTurn("turn_0", ())]
    assert read_turns(None) == read_turns([]) == []


@pytest.mark.parametrize(
    "answer",
    ["click", {"actions": []}, [CLICK], [3], [{"tool_id": "a"}], [{"actions": "x"}], [{"actions": [], "metadata": 3}]],
)
def test_nonsense_is_the_agents_error(answer: Any) -> None:
    with pytest.raises(AgentError) as caught:
        read_turns(answer)
    assert caught.value.blame == "policy"


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["actions", "tool_id", "metadata", "x"]), inner, max_size=3)))  # fmt: skip
def test_any_answer_is_turns_or_a_typed_error(answer: Any) -> None:
    try:
        turns = read_turns(answer)
    except AgentError:
        return
    assert all(isinstance(turn, AgentTurn) for turn in turns)
