"""What an episode took, and when a step turns into judging."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from gym_anything.benchmark.account import Account, judge_usage, plain_usage, task_facts
from gym_anything.benchmark.judge_phase import JudgePhase
from gym_anything.benchmark.phases import AGENT, JUDGE, STEP_S, WORLD, PhaseLimits, phase_limits
from gym_anything.errors import WorldLost
from gym_anything.models.usage import Usage
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.task_spec import TaskSpec

pytestmark = pytest.mark.unit


def env_with(memory_mib: Any) -> Any:
    return SimpleNamespace(runner=SimpleNamespace(memory_mib=memory_mib))


def test_memory_is_the_most_of_all_looks() -> None:
    account, readings = Account(), iter([300.0, 500.0, None, 400.0])
    for _ in range(4):
        account.look_at(env_with(lambda: next(readings)))
    found = account.memory()
    assert found["world_mib"] == 500.0
    assert found["whole_mib"] == pytest.approx(found["episode_mib"] + 500.0, abs=0.2)


def test_a_world_that_cannot_tell_its_memory_has_none() -> None:
    def lost() -> float:
        raise WorldLost("gone")

    account = Account()
    account.look_at(env_with(lost))
    account.look_at(SimpleNamespace(runner=SimpleNamespace()))
    account.look_at(env_with(lambda: None))
    assert list(account.memory()) == ["episode_mib"]


def test_there_are_no_world_seconds_without_a_world() -> None:
    account = Account()
    assert account.world_s == 0.0
    account.world_is_gone()
    assert account.world_s == 0.0


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (None, None),
        ("much", None),
        ({}, None),
        ({"tokens": 5}, None),
        ({"calls": 2, "output_tokens": True, "x": 1}, {"calls": 2, "cost_usd": None}),
        ({"cost_usd": 0.5}, {"cost_usd": 0.5}),
        ({"input_tokens": 7, "cost_usd": "cheap"}, {"input_tokens": 7, "cost_usd": None}),
    ],
)
def test_only_numbers_are_accounts(usage: Any, found: Any) -> None:
    assert plain_usage(usage) == found


def test_an_agents_usage_is_a_mapping_or_says_so_as_one() -> None:
    account = Account()
    usage = Usage(calls=1, input_tokens=10, cost_usd=None)
    assert account.usage_of(SimpleNamespace(usage=usage)) == usage.as_dict()
    assert account.usage_of(SimpleNamespace(usage={"calls": 3})) == {"calls": 3, "cost_usd": None}
    assert account.usage_of(SimpleNamespace()) is None
    assert account.usage_of(None) is None


def test_the_judges_account_is_in_its_report() -> None:
    assert judge_usage({"vlm": {"model": "m", "calls": 2, "cost_usd": 0.1}}) == {"calls": 2, "cost_usd": 0.1}
    assert judge_usage({"passed": True}) is None
    assert judge_usage(None) is None


def test_difficulty_and_tags_are_the_tasks() -> None:
    task = TaskSpec.from_dict({"id": "a@1", "description": "d", "difficulty": 3, "tags": ["x", "y"]})
    assert task_facts(task) == {"difficulty": "3", "tags": ("x", "y")}
    assert task_facts(None) == {}


class Phases:
    def __init__(self) -> None:
        self.told: list[tuple[str, float]] = []

    def phase(self, name: str, limit_s: float) -> None:
        self.told.append((name, limit_s))


@pytest.mark.parametrize(
    ("before", "verdict_s", "told"),
    [
        (WORLD, math.inf, [(JUDGE, 900.0)]),
        (WORLD, 20.0, [(JUDGE, 900.0), (JUDGE, 20.0)]),
        (AGENT, math.inf, [(JUDGE, 900.0), (AGENT, 90.0)]),
    ],
)
def test_judging_has_its_own_bound(before: str, verdict_s: float, told: list[tuple[str, float]]) -> None:
    phases = Phases()
    limits = PhaseLimits(1.0, 900.0, 60.0, verdict_s=verdict_s)
    hears = JudgePhase(phases, lambda: before, limits)
    for event in ("step", "completing", "judging", "finished"):
        hears.hear(event, anything=1)
    assert phases.told == told


def test_deadlines_that_were_asked_for_are_the_limits() -> None:
    env = EnvSpec.from_dict({"id": "e@1", "observation": [{"type": "rgb_screen"}], "action": [{"type": "mouse"}]})
    plain = phase_limits(env, None, hook_timeout_s=1, episode_s=None)
    assert (plain.step_s, plain.answer_s, plain.verdict_s) == (STEP_S, math.inf, math.inf)
    asked = phase_limits(env, None, hook_timeout_s=1, episode_s=None, step_deadline_s=5, verifier_deadline_s=6)
    assert (asked.step_s, asked.answer_s, asked.verdict_s) == (5, 5, 6)
