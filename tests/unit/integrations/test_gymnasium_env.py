"""The Gymnasium face of one environment, on the fake world."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_anything.errors import ActionError, CaptureFailed, SpecInvalid, StateError, UnsupportedFeature
from tests.unit.episode.fake_envs import MISBEHAVING, env_spec, task_spec

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.unit

from gymnasium.utils.env_checker import check_env  # noqa: E402

from gym_anything.integrations.gymnasium import ID  # noqa: E402
from gym_anything.integrations.gymnasium.action_space import KEYS, ComputerActions  # noqa: E402
from gym_anything.integrations.gymnasium.env import ComputerEnv  # noqa: E402
from gym_anything.specs.env_spec import EnvSpec  # noqa: E402


def fast(folder: Path, **changes: Any) -> dict[str, Any]:
    return env_spec(folder, runner_options={"time_control": True, "fast_io": True}, **changes)


@pytest.mark.parametrize("how", ["made", "direct"])
def test_it_passes_the_checker_of_gymnasium(tmp_path: Path, how: str) -> None:
    spec, task = fast(tmp_path), task_spec()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, env=spec, task=task).unwrapped if how == "made" else ComputerEnv(spec, task)
        check_env(env)
    env.close()


def test_spaces_are_the_specs_and_start_nothing(tmp_path: Path) -> None:
    env = ComputerEnv(fast(tmp_path), task_spec())
    assert env.observation_space["screen"].shape == (48, 64, 3)
    assert list(env.action_space["at"].nvec) == [64, 48]
    assert not (tmp_path / "artifacts").exists(), "nothing was started"
    with pytest.raises(StateError, match="reset"):
        env.step({"kind": "nothing"})
    env.close()


def test_a_gesture_reaches_the_world_and_the_picture_shows_it(tmp_path: Path) -> None:
    env = ComputerEnv(fast(tmp_path), task_spec(description="write a word"))
    first, info = env.reset(seed=1)
    assert info["instruction"] == "write a word" and Path(info["episode_dir"]).is_dir()
    typed = {**env.action_space.sample(), "kind": "text", "text": "abc"}
    seen, reward, terminated, truncated, info = env.step(typed)
    assert not np.array_equal(seen["screen"], first["screen"])
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert env.computer.runner.exec_capture("cat /home/ga/typed.txt") == "abc"
    env.close()


def test_actions_of_the_package_pass_as_they_are(tmp_path: Path) -> None:
    env = ComputerEnv(fast(tmp_path), task_spec())
    env.reset()
    env.step([{"keyboard": {"text": "é"}}, {"mouse": {"left_click": [3, 4]}}])
    env.step({"mouse": {"right_click": [5, 6]}})
    assert env.computer.runner.exec_capture("cat /home/ga/clicks.txt") == "left 3 4 1\nright 5 6 1\n"
    _, _, terminated, truncated, _ = env.step({"action": "done"})
    assert (terminated, truncated) == (True, False)
    env.close()


def test_the_end_is_told_by_its_reason(tmp_path: Path) -> None:
    limited = task_spec(init={"max_steps": 2})
    env = ComputerEnv(fast(tmp_path), limited)
    env.reset()
    assert env.step({"kind": "nothing"})[2:4] == (False, False)
    assert env.step({"kind": "nothing"})[2:4] == (False, True), "a limit truncates"
    env.reset()
    assert env.step({"kind": "done"})[2:4] == (True, False)
    env.close()


def test_a_lost_world_truncates_and_says_whose_fault_it_is(tmp_path: Path) -> None:
    env = ComputerEnv(fast(tmp_path, runner=MISBEHAVING.format("CrashingWorld")), task_spec())
    env.reset()
    for _ in range(2):
        seen, *_ = env.step({"kind": "move", "at": (1, 2)})
    last, reward, terminated, truncated, info = env.step({"kind": "move", "at": (1, 2)})
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "world"
    assert np.array_equal(last["screen"], seen["screen"]), "the last picture that there was"
    env.reset()
    env.close()


def test_each_kind_of_gesture_is_an_action(tmp_path: Path) -> None:
    actions = ComputerActions(EnvSpec.from_dict(fast(tmp_path)))
    parts = {"at": (1, 2), "to": (3, 4), "turn": -2, "text": "x", "modifiers": (1, 0, 1, 0), "key": KEYS.index("F5")}
    made = {kind: actions.gesture({"kind": kind, **parts}) for kind in actions.kinds}
    assert made["done"].done and not made["nothing"].done
    assert made["left_click_drag"].actions == {"mouse": {"left_click_drag": [[1, 2], [3, 4]]}}
    assert made["scroll"].actions == {"mouse": {"move": [1, 2], "scroll": -2}}
    assert made["keys"].actions == {"keyboard": {"keys": ["ctrl", "shift", "F5"]}}
    assert made["double_click"].actions == {"mouse": {"double_click": [1, 2]}}
    numbers = {actions.gesture({"kind": np.int64(n), **parts}).done for n in range(len(actions.kinds))}
    assert numbers == {True, False}


def test_a_wrong_action_is_refused_and_the_episode_goes_on(tmp_path: Path) -> None:
    env = ComputerEnv(fast(tmp_path), task_spec())
    env.reset()
    for wrong in ({"kind": "fly"}, {"kind": 99}, {"kind": "move"}, {"kind": "move", "at": (1, 2, 3)}, {"mouse": 3}):
        with pytest.raises(ActionError):
            env.step(wrong)
    with pytest.raises(ActionError):
        env.step({"kind": "move", "at": (64, 0)})
    assert env.step({"kind": "nothing"})[2:4] == (False, False)
    env.close()


def test_what_has_no_space_is_said(tmp_path: Path) -> None:
    silent = fast(tmp_path, observation=[{"type": "rgb_screen"}])
    with pytest.raises(SpecInvalid, match="resolution"):
        ComputerEnv(silent)
    with pytest.raises(UnsupportedFeature, match="actions="):
        ComputerEnv(fast(tmp_path, action=[{"type": "voice"}]))
    with pytest.raises(ValueError, match="render_mode"):
        ComputerEnv(fast(tmp_path), render_mode="human")
    env = ComputerEnv(fast(tmp_path))
    with pytest.raises(ValueError, match=r"not use_cach$"):
        env.reset(options={"use_cach": True})
    env.close()


def test_only_what_the_spec_names_can_be_done(tmp_path: Path) -> None:
    keyboard = ComputerActions(EnvSpec.from_dict(fast(tmp_path, action=[{"type": "keyboard"}])))
    assert keyboard.kinds == ("nothing", "done", "text", "keys") and "at" not in keyboard.space.spaces


def test_a_screen_that_is_not_the_specs_is_an_error(tmp_path: Path) -> None:
    env = ComputerEnv(fast(tmp_path), task_spec())
    env._shape = (10, 10, 3)
    with pytest.raises(CaptureFailed, match="64×48"):
        env.reset()
    env.close()


def test_pictures_come_from_files_without_fast_io_and_other_modalities_are_kept(tmp_path: Path) -> None:
    screens = [{"type": "rgb_screen", "resolution": [64, 48]}, {"type": "weather"}]
    env = ComputerEnv(env_spec(tmp_path, observation=screens), task_spec(), fast_io=False, render_mode="rgb_array")
    seen, info = env.reset()
    assert seen in env.observation_space and info["observation"]["weather"]["inputs"] == 0
    assert np.array_equal(env.render(), seen["screen"])
    env.close()
    env.close()
