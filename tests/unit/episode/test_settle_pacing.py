"""Pacing by settle: the world says when it is at rest, nothing sleeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.episode.pacing import AFTER_INPUT, BETWEEN_ACTIONS
from gym_anything.errors import UnsupportedFeature
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
        assert info["settle"] == {"settled": False, "waited_ms": 2000, "max_ms": 2000}, "the bound passed"
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
