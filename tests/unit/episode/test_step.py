"""Steps: what is done, what is waited, what comes back, how an episode ends."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gym_anything.errors import (
    Aborted,
    ActionError,
    ActionUnsupported,
    CaptureFailed,
    InputNotDelivered,
    ObservationError,
    SpecInvalid,
    StateError,
    UnsupportedFeature,
)
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import MISBEHAVING, fake_env, task_spec

pytestmark = pytest.mark.unit

CLICK = {"mouse": {"left_click": [0, 0]}}
TYPE = {"keyboard": {"text": "a"}}


def locator(cls: type) -> str:
    return f"{__name__}:{cls.__name__}"


class TellingWorld(FakeWorld):
    """It answers every action with what it was."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        if action.get("action") == "refuse":
            raise InputNotDelivered("the wire was cut")
        if "api_call" in action:
            return {"called": action["api_call"]}
        super().inject_action(action)
        return None


class UnacknowledgedWorld(FakeWorld):
    """It does not acknowledge input."""

    def acks_input_delivery(self) -> bool:
        return False


class FaultyEyes(FakeWorld):
    """Its screen cannot be captured once ``blind`` is set."""

    blind = False

    def capture_frame(self, after_input: int | None = None) -> Frame:
        if self.blind:
            raise CaptureFailed("the frame was torn")
        return super().capture_frame(after_input)


class ReusingWorld(FakeWorld):
    """It draws every frame into the same memory, as the contract lets a runner do."""

    def capture_frame(self, after_input: int | None = None) -> Frame:
        fresh = super().capture_frame(after_input)
        buffer = self.__dict__.setdefault("_buffer", np.zeros_like(fresh.array))
        buffer.flags.writeable = True
        buffer[:] = fresh.array
        view = buffer.view()
        return Frame(view, fresh.seq, fresh.captured_at, fresh.after_input)


class TextWorld(BaseRunner):
    """A world without a screen or a shell, with observations of its own."""

    def start(self, seed: int | None = None) -> None: ...
    def stop(self) -> None: ...
    def run_reset(self, script: str, seed: int | None = None) -> None: ...
    def run_task_init(self, script: str) -> None: ...
    def inject_action(self, action: dict[str, Any]) -> Any: ...

    def capture_observation(self) -> dict[str, Any]:
        return {"telemetry": {"joints": [1, 2]}, "extra": 5, "ui_tree": "the runner's own"}

    def capture_ui_tree(self) -> str:
        return "core's tree"


class FileWorld(FakeWorld):
    """An older world that writes screenshot files and nothing else."""

    empty = False

    def capture_screenshot(self, path: str | Path) -> bool:
        Path(path).write_bytes(b"")
        if not self.empty:
            Image.new("RGB", (8, 8), (1, 2, 3)).save(path, format="PNG")
        return True


class PlainWorld(FakeWorld):
    """A world without observations of its own."""

    def capture_observation(self) -> dict[str, Any]:
        return {}


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


def test_results_of_actions_are_in_info(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(TellingWorld)) as env:
        env.reset()
        _, _, _, info = env.step(
            [{"action": "settle", "quiet_ms": 0, "max_ms": 50}, {"api_call": "ping"}, {"action": "screenshot"}]
        )
        settle, call, screenshot = info["action_results"]
        assert settle["output"]["settled"] is True
        assert call == {"action": "other", "output": {"called": "ping"}}
        assert screenshot["action"] == "screenshot" and Path(screenshot["output"]).is_file()
        assert info["action_result"] is screenshot
        assert set(info["timings"]) == {"actions_s", "pacing_s", "observation_s", "step_s"}


def test_an_unknown_action_is_refused_by_the_world_never_ignored(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        with pytest.raises(ActionUnsupported):
            env.step({"voice": "hello"})
        _, _, done, _ = env.step(CLICK)
        assert not done, "the episode goes on"


def test_input_that_was_not_delivered_is_said_and_logged(tmp_path: Path) -> None:
    """P7: success is reported on evidence, not on intent."""
    with fake_env(tmp_path, runner=locator(TellingWorld)) as env:
        env.reset()
        with pytest.raises(InputNotDelivered):
            env.step([CLICK, {"action": "refuse"}])
        assert env.episode_dir is not None
        last = json.loads((env.episode_dir / "traj.jsonl").read_text().splitlines()[-1])
        assert last["event"] == "step" and last["error"]["code"] == "input-not-delivered"


@pytest.mark.parametrize("fast_io", [False, True])
def test_a_lost_world_ends_the_episode_as_a_value(tmp_path: Path, fast_io: bool) -> None:
    """L9: a dead world is not blamed on the agent."""
    runner = MISBEHAVING.format("CrashingWorld")
    with fake_env(tmp_path, task_spec(), runner=runner, fast_io=fast_io) as env:
        env.reset()
        env.step([CLICK, CLICK], wait_between_actions=0, settle_after_actions=False) if fast_io else None
        observation, reward, done, info = env.step([CLICK, CLICK, CLICK], wait_between_actions=0)
        assert observation == {} and reward == 0.0 and done
        assert info["reason"] == "world_lost"
        assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "world"
        assert "crashed" in info["outcome"]["story"]
        assert info["outcome"]["detail"]["log_tail"] == "segmentation fault"
        with pytest.raises(StateError, match="over"):
            env.step(CLICK)
        assert env.evaluate()["outcome"]["status"] == "broken"
        env.reset()
        _, _, done, _ = env.step([])
        assert not done, "the next episode has a new world"


def test_a_world_lost_while_the_episode_is_completed_is_a_value_too(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(hooks={"post_task": "true"})) as env:
        env.reset()
        env.runner.lose("out of memory")  # type: ignore[attr-defined]
        env.close()
        assert env.evaluate()["outcome"]["blame"] == "world"


def test_a_world_lost_while_it_is_judged_is_a_value_too(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(hooks={"post_task": "true"})) as env:
        env.reset()
        env.runner.lose("out of memory")  # type: ignore[attr-defined]
        report = env.evaluate()
        assert (report["outcome"]["status"], report["outcome"]["blame"]) == ("broken", "world")
        with pytest.raises(StateError, match="over"):
            env.step(CLICK)
        assert env.evaluate() == report


def test_the_limits_end_an_episode(tmp_path: Path) -> None:
    task = task_spec(init={"max_steps": 3, "timeout_sec": 1000})
    with fake_env(tmp_path, task) as env:
        env.reset()
        ends = [env.step([])[2:] for _ in range(3)]
        assert [done for done, _ in ends] == [False, False, True]
        assert ends[-1][1]["reason"] == "max_steps"
        assert (env.max_steps, env.timeout_sec) == (3, 1000.0)


def test_limits_can_be_set_from_outside(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        env.set_episode_limits(max_steps=1)
        assert env.step([])[3]["reason"] == "max_steps"
        assert (env.max_steps, env.timeout_sec) == (1, 600.0)
        env.set_episode_limits(timeout_sec=0.000001, max_steps=50)
        env.reset()
        assert env.step([])[3]["reason"] == "timeout"
        for wrong in ({"max_steps": 0}, {"max_steps": True}, {"timeout_sec": float("nan")}, {"timeout_sec": -1}):
            with pytest.raises(SpecInvalid):
                env.set_episode_limits(**wrong)


def test_mark_done_ends_it_for_the_agent(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        observation, _, done, info = env.step(CLICK, mark_done=True)
        assert done and info["reason"] == "Agent Completed" and "screen" in observation


def test_the_first_frame_and_the_one_after_the_first_step_have_different_names(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        first = env.reset()["screen"]["path"]
        second = env.step(CLICK)[0]["screen"]["path"]
        again = env.capture_observation()["screen"]["path"]
        assert Path(first).name == "frame_00000.png" and Path(second).name == "frame_00001.png"
        assert again not in (first, second) and Path(again).is_file()


def test_normal_mode_gives_paths_sizes_and_bytes_when_inline(tmp_path: Path) -> None:
    observation = [{"type": "rgb_screen", "resolution": [64, 48], "inline": True}]
    with fake_env(tmp_path, observation=observation) as env:
        screen = env.reset()["screen"]
        assert set(screen) == {"path", "resolution", "png_b64"} and screen["resolution"] == [64, 48]


def test_fast_mode_gives_images_and_arrays(tmp_path: Path) -> None:
    with fake_env(tmp_path, fast_io=True) as env:
        env.reset()
        screen = env.step(TYPE)[0]["screen"]
        assert screen["format"] == "pil" and screen["mode"] == "RGB" and screen["resolution"] == [64, 48]
        assert screen["image"].size == (64, 48) and screen["array"].shape == (48, 64, 3)
        assert not screen["array"].flags.writeable
        assert screen["seq"] > 0


def test_a_held_observation_survives_a_world_that_reuses_its_memory(tmp_path: Path) -> None:
    """The image is the caller's own copy, whenever it is first looked at."""
    with fake_env(tmp_path, fast_io=True, runner=locator(ReusingWorld)) as env:
        before = env.reset()["screen"]
        expected = before["array"].copy()
        env.step([{"mouse": {"left_click_drag": [[5, 5], [50, 40]]}}, TYPE])
        after = env.capture_observation()["screen"]
        assert not np.array_equal(expected, after["array"]), "the world has changed"
        assert np.array_equal(before["array"], expected)
        assert np.array_equal(np.asarray(before["image"]), expected)


def test_a_step_may_leave_the_observation_out(tmp_path: Path) -> None:
    with fake_env(tmp_path, fast_io=True) as env:
        env.reset()
        made = env.runner.frames_made  # type: ignore[attr-defined]
        assert env.step(CLICK, capture_observation=False)[0] == {}
        assert env.runner.frames_made == made  # type: ignore[attr-defined]


def test_a_failed_capture_raises_in_fast_mode_and_is_said_in_normal_mode(tmp_path: Path) -> None:
    """S1: an empty or torn frame is an error, not an image."""
    with fake_env(tmp_path, fast_io=True, runner=locator(FaultyEyes)) as env:
        env.reset()
        env.runner.blind = True  # type: ignore[attr-defined]
        with pytest.raises(CaptureFailed):
            env.step(CLICK)
    with fake_env(tmp_path, runner=locator(FaultyEyes)) as env:
        env.reset()
        env.runner.blind = True  # type: ignore[attr-defined]
        observation, _, done, info = env.step(CLICK)
        assert "screen" not in observation and not done
        assert "torn" in info["observation_errors"]["screen"]


def test_an_empty_screenshot_file_is_an_error(tmp_path: Path) -> None:
    """S1."""
    with fake_env(tmp_path, runner=locator(FileWorld)) as env:
        assert env.reset()["screen"]["resolution"] == [8, 8]
        env.runner.empty = True  # type: ignore[attr-defined]
        observation, _, _, info = env.step([])
        assert "screen" not in observation and "screen" in info["observation_errors"]


def test_observations_of_the_worlds_own_are_merged_and_never_override(tmp_path: Path) -> None:
    with fake_env(
        tmp_path, runner=locator(TextWorld), observation=[{"type": "telemetry"}, {"type": "ui_tree"}], runner_options={}
    ) as env:
        observation = env.reset()
        assert observation["telemetry"] == {"joints": [1, 2]} and observation["extra"] == 5
        assert observation["ui_tree"] == {"text": "core's tree"}
        _, _, _, info = env.step([])
        assert "ui_tree" in info["observation_errors"]


def test_an_observation_of_a_kind_that_the_world_does_not_have_is_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(PlainWorld), observation=[{"type": "rgb_screen"}, {"type": "lidar"}]) as env:
        env.reset()
        observation, _, _, info = env.step([])
        assert list(observation) == ["screen"]
        assert info["observation_errors"] == {"lidar": "this world has nothing of the kind"}


def test_a_screen_that_the_world_does_not_have_is_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(TextWorld)) as env:
        assert "screen" not in env.reset()
        assert "no screen" in env.step([])[3]["observation_errors"]["screen"]


def test_sound_and_tree_have_the_contracts_shape(tmp_path: Path) -> None:
    observation = [{"type": "audio_waveform", "sample_rate": 8000, "chunk_duration_ms": 50}, {"type": "ui_tree"}]
    with fake_env(tmp_path, observation=observation) as env:
        seen = env.reset()
        assert seen["audio"]["rate"] == 8000 and seen["audio"]["num_samples"] == 400
        assert seen["ui_tree"]["text"]


def test_a_sense_that_the_world_lacks_is_absent_and_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(TextWorld), observation=[{"type": "audio_waveform"}]) as env:
        assert env.reset() == {}
        assert "no sound" in env.step([])[3]["observation_errors"]["audio"]


def test_fast_io_that_the_world_lacks_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature) as error:
        fake_env(tmp_path, runner=locator(TextWorld), fast_io=True)
    assert error.value.detail["feature"] == "fast_io"


def test_roles_are_split_and_take_turns(tmp_path: Path) -> None:
    class_name = locator(RoleWorld)
    with fake_env(tmp_path, runner=class_name, multi_agent={"roles": ["red", "blue"], "turn_based": True}) as env:
        env.reset()
        env.step(TYPE)
        with pytest.raises(ActionError):
            env.step({"keyboard": {"keys": "nonsense"}})
        env.step(TYPE)
        env.step({"blue": TYPE, "red": [TYPE]})
        assert env.runner.roles == ["red", "blue", "red", "blue"]  # type: ignore[attr-defined]
        env.reset()
        env.step(TYPE)
        assert env.runner.roles[-1] == "red", "a new episode begins with the first role"  # type: ignore[attr-defined]


class RoleWorld(FakeWorld):
    """It remembers who acted."""

    def inject_action(self, action: dict[str, Any]) -> Any:
        if "_role" in action:
            self.__dict__.setdefault("roles", []).append(action["_role"])
        return super().inject_action({k: v for k, v in action.items() if k != "_role"})


def test_held_keys_are_released_at_the_end(tmp_path: Path) -> None:
    """T5: keys_down without keys_up is released at the end of the episode."""
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        env.step({"keyboard": {"keys_down": ["shift"]}})
        assert env.runner.held  # type: ignore[attr-defined]
        env.step([], mark_done=True)
        assert not env.runner.held  # type: ignore[attr-defined]


def test_abort_ends_a_blocked_step_within_a_second(tmp_path: Path) -> None:
    env = fake_env(tmp_path, task_spec(), runner_options={"time_control": False})
    env.reset()
    threading.Timer(0.05, env.abort).start()
    with pytest.raises(Aborted):
        env.step({"action": "wait", "time": 60})
    assert env.evaluate()["outcome"]["status"] == "broken"
    env.close()
    with pytest.raises(Aborted):
        env.reset()
    env.close()


def test_an_observation_of_nonsense_is_a_typed_error(tmp_path: Path) -> None:
    with (
        fake_env(tmp_path, runner=locator(NonsenseWorld), observation=[{"type": "telemetry"}], fast_io=True) as env,
        pytest.raises(ObservationError),
    ):
        env.reset()


class NonsenseWorld(FakeWorld):
    """Its own observation is no dict."""

    def capture_observation(self) -> dict[str, Any]:
        return [1, 2]  # type: ignore[return-value]
