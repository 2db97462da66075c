"""Steps: what is waited before, between and after actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import (
    ActionError,
)
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import fake_env, task_spec

pytestmark = pytest.mark.unit


CLICK = {"mouse": {"left_click": [0, 0]}}


TYPE = {"keyboard": {"text": "a"}}


def locator(cls: type) -> str:
    return f"{__name__}:{cls.__name__}"


class UnacknowledgedWorld(FakeWorld):
    """It does not acknowledge input."""

    def acks_input_delivery(self) -> bool:
        return False


def clock_of(env: Any) -> float:
    return float(env.runner.clock.now())


def test_normal_pacing_is_the_contracts(tmp_path: Path) -> None:
    """0.2 s between actions of one list, 2 s after input, then the step cycle of a synchronous environment."""
    with fake_env(tmp_path) as env:
        env.reset()
        start = clock_of(env)
        env.step([CLICK, TYPE, CLICK])
        assert clock_of(env) - start == pytest.approx(0.2 * 2 + 2.0 + 0.1)


def test_without_input_nothing_settles(tmp_path: Path) -> None:
    with fake_env(tmp_path, step_cycle_ms=50) as env:
        env.reset()
        start = clock_of(env)
        env.step([{"action": "screenshot"}, {"action": "wait", "time": 1}])
        assert clock_of(env) - start == pytest.approx(0.2 + 1 + 0.05)


def test_settling_and_the_cycle_can_be_left_out(tmp_path: Path) -> None:
    with fake_env(tmp_path, synchronous=False) as env:
        env.reset()
        start = clock_of(env)
        env.step(CLICK, settle_after_actions=False)
        assert clock_of(env) == start


def test_fast_pacing_is_no_pacing(tmp_path: Path) -> None:
    with fake_env(tmp_path, fast_io=True) as env:
        env.reset()
        start = clock_of(env)
        env.step([CLICK, TYPE, CLICK])
        assert clock_of(env) == start


def test_fast_pacing_keeps_the_gap_of_worlds_that_do_not_acknowledge(tmp_path: Path) -> None:
    with fake_env(tmp_path, fast_io=True, runner=locator(UnacknowledgedWorld)) as env:
        env.reset()
        start = clock_of(env)
        env.step([CLICK, TYPE], wait_between_actions=0.3)
        env.step([CLICK, TYPE])
        assert clock_of(env) - start == pytest.approx(0.3 + 0.2)


def test_fast_pacing_follows_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_FAST_IO_ACTION_SETTLE_MS", "25")
    monkeypatch.setenv("GYM_ANYTHING_FAST_IO_STEP_CYCLE_MS", "50")
    monkeypatch.setenv("GYM_ANYTHING_FAST_IO_ACTION_GAP_MS", "5")
    with fake_env(tmp_path, fast_io=True) as env:
        env.reset()
        start = clock_of(env)
        env.step([CLICK, TYPE])
        assert clock_of(env) - start == pytest.approx(0.025 + 0.05 + 0.005)
        start = clock_of(env)
        env.step([CLICK, TYPE], wait_between_actions=1.5)
        assert clock_of(env) - start == pytest.approx(0.025 + 0.05 + 1.5), "a gap the caller chose stays"


def test_a_world_with_its_own_clock_receives_the_waits(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        _, _, _, info = env.step({"action": "wait", "time": 3})
        assert info["action_result"]["action"] == "wait"
        assert info["action_result"]["output"]["now"] == pytest.approx(3.0)


def test_a_wait_ends_with_the_episode(tmp_path: Path) -> None:
    """V5: nothing waits beyond the episode's own time limit."""
    task = task_spec(init={"timeout_sec": 0.05})
    with fake_env(tmp_path, task, runner_options={"time_control": False}, synchronous=False) as env:
        env.reset()
        _, _, done, info = env.step({"action": "wait", "time": 1000})
        assert done and info["reason"] == "timeout"


def test_all_actions_are_checked_before_the_first_is_done(tmp_path: Path) -> None:
    """P1, P2: 0 is a coordinate; a point outside of the screen is refused."""
    with fake_env(tmp_path) as env:
        env.reset()
        for bad in ({"mouse": {"left_click": [64, 0]}}, {"keyboard": {"keys": "nonsense"}}, {}, "click", 5, None, []):
            with pytest.raises(ActionError):
                env.step([CLICK, bad])  # type: ignore[list-item]
        assert env.runner.inputs_acknowledged == 0  # type: ignore[attr-defined]
        _, _, done, info = env.step([])
        assert not done and info["step"] == 1, "refused steps do not count"


@pytest.mark.parametrize("gap", [-1, float("nan"), "0.2", True, None])
def test_a_gap_that_is_no_time_is_refused(tmp_path: Path, gap: Any) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        with pytest.raises(ActionError, match="wait_between_actions"):
            env.step([CLICK], wait_between_actions=gap)
