"""Multi-agent roles: split, marked, and taking turns."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.actions.parse import parse_actions
from gym_anything.actions.roles import RoleSplitter
from gym_anything.errors import ActionError, SpecInvalid

pytestmark = pytest.mark.unit

MOVE = {"mouse": {"move": [1, 1]}}
TYPE = {"keyboard": {"text": "a"}}


def test_a_dict_by_role_is_split_in_the_declared_order_and_each_copy_carries_its_role() -> None:
    splitter = RoleSplitter(["alice", "bob"])
    raw = {"bob": TYPE, "alice": [MOVE, TYPE]}
    assert splitter.split(raw) == [{**MOVE, "_role": "alice"}, {**TYPE, "_role": "alice"}, {**TYPE, "_role": "bob"}]
    assert raw == {"bob": TYPE, "alice": [MOVE, TYPE]}
    assert [action.role for action in parse_actions(splitter.split(raw), screen=(9, 9))] == ["alice", "alice", "bob"]


def test_plain_actions_take_turns_one_turn_a_call() -> None:
    splitter = RoleSplitter(["alice", "bob"], turn_based=True)
    assert splitter.current == "alice"
    assert [a["_role"] for a in splitter.split([MOVE, TYPE])] == ["alice", "alice"]
    assert [a["_role"] for a in splitter.split(MOVE)] == ["bob"]
    assert splitter.current == "alice"
    assert splitter.split([]) == []
    assert splitter.current == "alice"
    splitter.split(MOVE)
    splitter.restart()
    assert splitter.current == "alice"


def test_an_action_that_names_its_role_uses_up_no_turn() -> None:
    splitter = RoleSplitter(["alice", "bob"], turn_based=True)
    assert splitter.split({**MOVE, "_role": "bob"}) == [{**MOVE, "_role": "bob"}]
    assert splitter.split({"bob": MOVE}) == [{**MOVE, "_role": "bob"}]
    assert splitter.current == "alice"


def test_without_turns_a_plain_action_has_no_role() -> None:
    splitter = RoleSplitter(["alice", "bob"])
    assert splitter.current is None
    assert splitter.split(MOVE) == [MOVE]


@pytest.mark.parametrize(
    "raw",
    [
        {"alice": MOVE, "mouse": {"move": [1, 1]}},
        {"alice": "click"},
        {"alice": [MOVE, 3]},
        {"alice": {**MOVE, "_role": "bob"}},
        {**MOVE, "_role": "carol"},
        {**MOVE, "_role": []},
    ],
)
def test_a_mix_or_an_unknown_role_is_an_error_and_the_turn_stays(raw: Any) -> None:
    splitter = RoleSplitter(["alice", "bob"], turn_based=True)
    with pytest.raises(ActionError):
        splitter.split([MOVE, raw])
    assert splitter.current == "alice"


def test_what_is_no_dict_is_left_for_the_parser_to_refuse() -> None:
    with pytest.raises(ActionError):
        parse_actions(RoleSplitter(["alice"]).split(["click"]), screen=None)
    with pytest.raises(ActionError):
        parse_actions(RoleSplitter(["alice"], turn_based=True).split("click"), screen=None)


@pytest.mark.parametrize("roles", [[], ["a", "a"], ["mouse"], ["a", "action"], [""]])
def test_roles_that_cannot_work_are_refused(roles: list[str]) -> None:
    with pytest.raises(SpecInvalid):
        RoleSplitter(roles)
