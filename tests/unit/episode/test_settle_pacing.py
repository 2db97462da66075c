"""Pacing by settle: the world says when it is at rest, nothing sleeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.episode.pacing import AFTER_INPUT, BETWEEN_ACTIONS
from gym_anything.errors import ActionError, ActionUnsupported, SpecInvalid, UnsupportedFeature
from gym_anything.runtime.runners.base_senses import SettleResult
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import fake_env, task_spec

pytestmark = pytest.mark.unit

CLICK = {"mouse": {"left_click": [5, 5]}}


class TellingWorld(FakeWorld):
    """Says when it was asked to settle, and never comes to rest within a long bound."""

    asked: list[tuple[float, float]]

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000) -> SettleResult:
        self.asked = [*getattr(self, "asked", []), (quiet_ms, max_ms)]
        return SettleResult(max_ms < 2000, max_ms)


class BlindWorld(FakeWorld):
    """A world without a screen, and without a settle of its own."""

    def has_screen(self) -> bool:
        return False


AFTER = (AFTER_INPUT.quiet_ms, AFTER_INPUT.max_ms)
BETWEEN = (BETWEEN_ACTIONS.quiet_ms, BETWEEN_ACTIONS.max_ms)


def telling_env(folder: Path, task: dict[str, Any] | None = None) -> Any:
    return fake_env(folder, task, runner=f"{__name__}:TellingWorld", pacing="settle")


def test_settle_takes_the_place_of_every_sleep(tmp_path: Path) -> None:
    with telling_env(tmp_path) as env:
        env.reset()
        start = env.runner.clock.now()
        _, _, _, info = env.step([CLICK, CLICK])
        assert env.runner.asked == [BETWEEN, AFTER]
        assert env.runner.clock.now() == start, "no gap, no sleep, no step cycle"
        assert info["settle"] == {"settled": False, "waited_ms": 2000, "ignored": [], "max_ms": 2000}, (
            "the bound passed"
        )
        line = json.loads((env.episode_dir / "traj.jsonl").read_text().splitlines()[-1])
        assert "settle" in json.dumps(line)


def test_a_gap_that_the_caller_chose_is_slept(tmp_path: Path) -> None:
    with telling_env(tmp_path) as env:
        env.reset()
        start = env.runner.clock.now()
        env.step([CLICK, CLICK], wait_between_actions=0.5)
        assert env.runner.clock.now() - start == pytest.approx(0.5)
        assert env.runner.asked == [AFTER]


def test_nothing_settles_without_input_or_when_left_out(tmp_path: Path) -> None:
    with telling_env(tmp_path) as env:
        env.reset()
        assert "settle" not in env.step({"action": "wait", "time": 1})[3]
        assert "settle" not in env.step(CLICK, settle_after_actions=False)[3]
        assert not hasattr(env.runner, "asked")


def test_opening_input_settles_between_its_actions(tmp_path: Path) -> None:
    with telling_env(tmp_path, task_spec(init={"init_pyautogui": [CLICK, CLICK]})) as env:
        env.reset()
        assert env.runner.asked == [BETWEEN]


def test_a_world_that_compares_frames_settles_too(tmp_path: Path) -> None:
    with fake_env(tmp_path, pacing="settle") as env:
        env.reset()
        found = env.step(CLICK)[3]["settle"]
        assert found["settled"] and found["waited_ms"] >= AFTER_INPUT.quiet_ms


def test_pacing_by_settle_wins_over_fast_io(tmp_path: Path) -> None:
    with fake_env(tmp_path, pacing="settle", fast_io=True) as env:
        env.reset()
        assert env.step(CLICK)[3]["settle"]["settled"]


def test_a_world_without_a_screen_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="has no screen") as error:
        fake_env(tmp_path, runner=f"{__name__}:BlindWorld", pacing="settle")
    assert error.value.detail["feature"] == "pacing"


@pytest.mark.parametrize(("pacing", "settles"), [("legacy", False), ("fast", False), (None, False), ("settle", True)])
def test_only_settle_pacing_says_so(tmp_path: Path, pacing: str | None, settles: bool) -> None:
    with fake_env(tmp_path, pacing=pacing) as env:
        env.reset()
        assert ("settle" in env.step(CLICK)[3]) is settles


class LearningWorld(FakeWorld):
    """Says which boxes it was given, and that it has learnt one itself."""

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000, ignore: Any = ()) -> SettleResult:
        self.given = [*getattr(self, "given", []), tuple(ignore)]
        return SettleResult(True, 5, (*ignore, (60, 40, 2, 8)))


CLOCK, ADVERT = (50, 0, 14, 8), (0, 30, 20, 10)


def learning_env(folder: Path, **changes: Any) -> Any:
    return fake_env(folder, runner=f"{__name__}:LearningWorld", pacing="settle", **changes)


def test_boxes_are_left_out_of_every_settle_and_named(tmp_path: Path) -> None:
    with learning_env(tmp_path, settle_ignore=[list(CLOCK)]) as env:
        env.reset()
        info = env.step([CLICK, {"action": "settle"}, CLICK])[3]
        assert env.runner.given == [(CLOCK,)] * 4, "two gaps, the action, and after input"
        assert info["settle"]["ignored"] == [list(CLOCK), [60, 40, 2, 8]]
        assert info["action_result"]["output"] == {
            "settled": True,
            "waited_ms": 5,
            "ignored": [list(CLOCK), [60, 40, 2, 8]],
        }


def test_a_step_and_an_action_leave_out_more_and_each_box_once(tmp_path: Path) -> None:
    with learning_env(tmp_path, settle_ignore=[CLOCK]) as env:
        env.reset()
        env.step(CLICK, settle_ignore=[ADVERT, CLOCK])
        env.step({"action": "settle", "ignore": [ADVERT]})
        env.step(CLICK)
        assert env.runner.given == [(CLOCK, ADVERT), (CLOCK, ADVERT), (CLOCK,)]


def test_the_spec_can_name_the_boxes_and_the_argument_wins(tmp_path: Path) -> None:
    with learning_env(tmp_path / "a", settle_ignore=None, extras={"settle_ignore": [CLOCK]}) as env:
        env.reset()
        env.step(CLICK)
        assert env.runner.given == [(CLOCK,)]
    with learning_env(tmp_path / "b", settle_ignore=[], extras={"settle_ignore": [CLOCK]}) as env:
        env.reset()
        env.step(CLICK)
        assert env.runner.given == [()]


def test_opening_input_leaves_the_boxes_out(tmp_path: Path) -> None:
    opening = [{"action": "settle", "ignore": [ADVERT]}]
    world = f"{__name__}:LearningWorld"
    with fake_env(tmp_path, task_spec(init={"init_pyautogui": opening}), runner=world, settle_ignore=[CLOCK]) as env:
        env.reset()
        assert env.runner.given == [(CLOCK, ADVERT)]


@pytest.mark.parametrize("boxes", [[[0, 0, 65, 1]], [[1, 2, 3]], "clock", [[0, 0, 0, 0]], [[-1, 0, 5, 5]], 7])
def test_boxes_off_the_screen_are_refused_before_anything_starts(tmp_path: Path, boxes: Any) -> None:
    with pytest.raises(SpecInvalid) as error:
        learning_env(tmp_path, settle_ignore=boxes)
    assert error.value.detail["key"] == "settle_ignore"


def test_a_step_with_bad_or_too_many_boxes_does_nothing(tmp_path: Path) -> None:
    many = [[n, 0, 1, 1] for n in range(10)]
    with learning_env(tmp_path, settle_ignore=many) as env:
        env.reset()
        for arguments in ({"settle_ignore": [[0, 0, 99, 99]]}, {"settle_ignore": [[n, 5, 1, 1] for n in range(7)]}):
            with pytest.raises(ActionError):
                env.step(CLICK, **arguments)
        with pytest.raises(ActionError, match="16 boxes"):
            env.step([CLICK, {"action": "settle", "ignore": [[n, 5, 1, 1] for n in range(7)]}])
        assert not hasattr(env.runner, "given")
        assert env.runner.inputs_acknowledged == 0


def test_a_world_whose_settle_takes_no_boxes_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="leave boxes out") as error:
        fake_env(tmp_path, runner=f"{__name__}:TellingWorld", settle_ignore=[CLOCK])
    assert error.value.detail["feature"] == "settle_ignore"
    with telling_env(tmp_path) as env:
        env.reset()
        with pytest.raises(ActionUnsupported, match="leave boxes out"):
            env.step({"action": "settle", "ignore": [CLOCK]})
