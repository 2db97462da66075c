"""Levels: which exist, what they need, what may stand in."""

from __future__ import annotations

import pytest

from gym_anything.errors import CheckpointUnsupported
from gym_anything.runtime.checkpoints.levels import LEVELS, CheckpointName, stand_ins

pytestmark = pytest.mark.unit


def test_the_best_stand_in_comes_first() -> None:
    assert stand_ins("post_task") == ("post_task", "post_start", "pre_start")
    assert stand_ins("pre_start") == ("pre_start",)


@pytest.mark.parametrize("level", ["pre_start", "post_start"])
def test_levels_below_the_task_are_shared_by_all_tasks(level: str) -> None:
    assert CheckpointName.checked(level, "a") == CheckpointName.checked(level, "b")


def test_a_task_level_without_a_task_is_refused() -> None:
    with pytest.raises(CheckpointUnsupported, match="needs a task"):
        CheckpointName.checked("post_task")


@pytest.mark.parametrize("level", ["", "default", "POST_START", "post_start "])
def test_an_unknown_level_is_refused_with_the_known_ones(level: str) -> None:
    with pytest.raises(CheckpointUnsupported) as caught:
        CheckpointName.checked(level, "t")
    assert all(known in str(caught.value) for known in LEVELS)
