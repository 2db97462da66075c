"""TaskSpec: right values, defaults, refusals, and what is odd but accepted."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.errors import SpecInvalid
from gym_anything.specs import TaskSpec
from gym_anything.specs.loading import checked_task
from tests.unit.specs.minimal import task_data

pytestmark = pytest.mark.unit


def test_a_task_with_nothing_but_an_id_has_the_documented_defaults() -> None:
    task = TaskSpec.from_dict({"id": "t@1"})
    assert (task.init.timeout_sec, task.init.max_steps, task.init.reward_type) == (600, 2000, "sparse")
    assert task.hooks.pre_task_timeout == 600
    assert (task.success.mode, task.success.spec) == ("program", {})
    assert task.metadata == {} and task.extras == {} and task.env_id is None


def test_success_without_a_mode_is_a_program() -> None:
    assert TaskSpec.from_dict(task_data()).success.mode == "program"


def test_every_field_arrives_and_survives_the_round_trip() -> None:
    data = task_data(
        env_id="other_env@9",
        name="T",
        natural_language={"prompt": "Please.", "context_hint": "c"},
        difficulty="medium-hard",
        deps=["net"],
        tags=["a"],
        init={
            "init_script": "mkdir -p /tmp/x",
            "init_pyautogui": [{"type": "keys", "keys": ["win", "r"]}, {"type": "wait", "seconds": 0.5}],
            "timeout_sec": 30.5,
            "max_steps": 3,
            "reward_type": "dense",
            "reward_shaping": "shape.py::f",
        },
        hooks={"pre_task": "a && b", "post_task": "c", "pre_task_timeout": 60},
        success={"mode": "multi", "spec": {"checks": [{"mode": "image_match", "spec": {"target": "t.png"}}]}},
        metadata={"deep": [{"x": None}]},
        extras={"post_task_settle_sec": 1},
        industry="Librarians",
    )
    task = TaskSpec.from_dict(data)
    assert task.to_dict() == data
    assert TaskSpec.from_dict(task.to_dict()) == task
    assert task.extras == {"post_task_settle_sec": 1, "industry": "Librarians"}


@pytest.mark.parametrize(
    ("data", "prompt"),
    [
        ({"description": "D", "natural_language": "N"}, "D"),
        ({"natural_language": "N"}, "N"),
        ({"natural_language": {"prompt": "P", "context_hint": "c"}}, "P"),
        ({"natural_language": {"context_hint": "c"}, "name": "Name"}, "Name"),
        ({}, "t@1"),
    ],
)
def test_the_prompt_is_the_description_or_the_natural_language(data: dict[str, Any], prompt: str) -> None:
    assert TaskSpec.from_dict({"id": "t@1", **data}).prompt == prompt


@pytest.mark.parametrize(
    ("init", "rule", "warned"),
    [
        ({}, "sparse", False),
        ({"reward_type": "partial"}, "partial", False),
        ({"reward_type": "rubric"}, "rubric", False),
        ({"reward_type": "continuous"}, "continuous", False),
        ({"reward_type": "dense", "reward_shaping": "s.py::f"}, "dense", False),
        ({"reward_type": "dense", "reward_shaping": {"program": "s.py::f"}}, "dense", False),
        ({"reward_type": "dense"}, "sparse", True),
        ({"reward_type": "final"}, "sparse", True),
        ({"reward_type": "weighted"}, "sparse", True),
        ({"reward_type": "Sparse"}, "sparse", True),
    ],
)
def test_reward_types_follow_their_rule_and_others_are_scored_as_sparse_aloud(
    init: dict[str, Any], rule: str, warned: bool
) -> None:
    task, warnings = checked_task(task_data(init=init))
    assert task.reward_rule == rule
    assert [w.kind for w in warnings] == (["reward-type"] if warned else [])
    assert not warned or init["reward_type"] in warnings[0].message


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        ({"extras": {"post_task_settle_sec": 2}, "metadata": {"post_task_settle_sec": 9}}, 2.0),
        ({"post_task_settle_sec": 3}, 3.0),
        ({"metadata": {"post_task_settle_sec": 0}}, 0.0),
        ({}, None),
    ],
)
def test_the_settle_time_is_read_from_extras_then_metadata(data: dict[str, Any], seconds: float | None) -> None:
    task, warnings = checked_task(task_data(**data))
    assert task.post_task_settle_sec == seconds and not warnings


def test_a_settle_time_that_cannot_be_used_is_warned_about() -> None:
    task, warnings = checked_task(task_data(metadata={"post_task_settle_sec": "soon"}))
    assert task.post_task_settle_sec is None
    assert [w.kind for w in warnings] == ["no-effect"]


def test_a_task_without_a_judge_or_a_prompt_is_accepted_aloud() -> None:
    _, warnings = checked_task({"id": "t"})
    assert [w.kind for w in warnings] == ["no-prompt", "no-judge"]


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ({"id": None}, "id", "add it"),
        ({"init": {"max_steps": 0}}, "init.max_steps", "greater than or equal to 1"),
        ({"init": {"max_steps": 2.5}}, "init.max_steps", "write a whole number"),
        ({"init": {"max_step": 5}}, "init.max_step", "did you mean 'max_steps'?"),
        ({"init": {"timeout_sec": 0}}, "init.timeout_sec", "greater than 0"),
        ({"init": {"reward_type": 1}}, "init.reward_type", "write text"),
        ({"init": {"reward_shaping": 1}}, "init.reward_shaping", "write text"),
        ({"init": {"init_pyautogui": [5]}}, "init.init_pyautogui[0]", "write"),
        ({"hooks": {"pre_task": ["a"]}}, "hooks.pre_task", "write text"),
        ({"hooks": {"pre_task_timeout": -1}}, "hooks.pre_task_timeout", "greater than 0"),
        ({"success": {"mode": "llm"}}, "success.mode", "'image_match'"),
        ({"success": {"program": "v.py::f"}}, "success.program", "known here: mode, spec"),
        ({"natural_language": 4}, "natural_language", "write text"),
        ({"metadata": "x"}, "metadata", "write an object"),
    ],
)
def test_a_wrong_value_is_one_error_with_key_and_fix(change: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        TaskSpec.from_dict(task_data(**change), origin="task.json")
    assert caught.value.detail["key"] == key and caught.value.detail["fix"]
    assert words in str(caught.value) and str(caught.value).startswith("task.json: ")
