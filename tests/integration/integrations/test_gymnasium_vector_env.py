"""The Gymnasium face of many environments, on a pool of fake worlds."""

from __future__ import annotations

import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_anything.errors import ActionError, ReplicaFailed, SpecInvalid, StateError, WorldStartFailed
from gym_anything.pool.environment_world import EnvironmentChoice, environment_rules
from gym_anything.pool.guard import HostReading
from gym_anything.pool.pool import Pool
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import MISBEHAVING, env_spec, task_spec

gymnasium = pytest.importorskip("gymnasium")
pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]

from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics  # noqa: E402

from gym_anything.integrations.gymnasium import ID  # noqa: E402
from gym_anything.integrations.gymnasium.vector_env import ComputerVectorEnv  # noqa: E402

ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
NOTHING = {"kind": "nothing"}
DONE = {"kind": "done"}


def spec_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return env_spec(folder, runner_options={"time_control": True, "fast_io": True}, **changes)


def envs_of(
    folder: Path, count: int = 3, tasks: Any = None, lease_s: float | None = None, **changes: Any
) -> ComputerVectorEnv:
    names = ("autoreset_mode", "render_mode", "step_limit_s", "replicas")
    flags = {name: changes.pop(name) for name in names if name in changes}
    spec = spec_of(folder, **changes)
    choice = EnvironmentChoice(spec, fast_io=True)
    rules = environment_rules(choice, least=flags.get("replicas", count))
    if lease_s is not None:
        rules = replace(rules, replica=replace(rules.replica, lease_s=lease_s))

    def make_pool() -> Pool:
        return Pool(choice.make_world, rules, read=lambda: ROOMY)

    return ComputerVectorEnv(count, spec, tasks or task_spec(), make_pool=make_pool, **flags)


def test_it_is_made_as_gymnasium_makes_them_and_starts_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gymnasium.make_vec(ID, num_envs=4, env=spec_of(tmp_path), tasks=[task_spec()])
    assert isinstance(envs, ComputerVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert envs.observation_space["screen"].shape == (4, 48, 64, 3)
    assert envs.single_observation_space["screen"].shape == (48, 64, 3)
    assert not (tmp_path / "artifacts").exists()
    with pytest.raises(StateError, match="reset"):
        envs.step(envs.action_space.sample())
    envs.close()
    envs.close()
    with pytest.raises(StateError, match="closed"):
        envs.reset()


def test_batches_are_of_the_spaces_and_pictures_are_the_callers_own(tmp_path: Path) -> None:
    envs = envs_of(tmp_path, tasks=[task_spec(description="a"), task_spec(description="b")])
    first, infos = envs.reset(seed=5)
    assert first in envs.observation_space
    assert list(infos["instruction"]) == ["a", "b", "a"] and infos["_instruction"].all()
    assert len({*infos["episode_dir"]}) == 3
    kept = first["screen"].copy()
    actions = [{"keyboard": {"text": "xyz"}}, NOTHING, {"kind": "move", "at": (1, 1)}]
    seen, rewards, terminations, truncations, infos = envs.step(actions)
    assert seen in envs.observation_space and np.array_equal(first["screen"], kept)
    assert not np.array_equal(seen["screen"][0], kept[0]) and np.array_equal(seen["screen"][1], kept[1])
    assert rewards.dtype == np.float64 and not (terminations | truncations).any()
    assert [*infos["step"]] == [1, 1, 1]
    envs.action_space.seed(2)
    for _ in range(3):
        assert envs.step(envs.action_space.sample())[0] in envs.observation_space
    envs.close()


def test_who_is_over_goes_on_in_the_next_step(tmp_path: Path) -> None:
    envs = envs_of(tmp_path)
    _, begun = envs.reset()
    _, _, terminations, truncations, _ = envs.step([DONE, NOTHING, NOTHING])
    assert [*terminations] == [True, False, False] and not truncations.any()
    _, rewards, terminations, _, infos = envs.step([{"kind": "fly"}, NOTHING, NOTHING])
    assert not terminations.any() and not rewards.any()
    assert [*infos["_episode_dir"]] == [True, False, False] and "refused" not in infos
    assert infos["episode_dir"][0] != begun["episode_dir"][0]
    envs.close()


def test_who_is_over_goes_on_in_the_same_step(tmp_path: Path) -> None:
    envs = envs_of(tmp_path, autoreset_mode="SameStep")
    first, _ = envs.reset()
    envs.step([{"keyboard": {"text": "x"}}, NOTHING, NOTHING])
    seen, _, terminations, _, infos = envs.step([DONE, NOTHING, NOTHING])
    assert [*terminations] == [True, False, False]
    assert infos["final_info"][0]["reason"] == "Agent Completed" and not infos["_final_info"][1]
    assert np.array_equal(seen["screen"][0], first["screen"][0])
    assert not np.array_equal(infos["final_obs"][0]["screen"], seen["screen"][0])
    assert not envs.step([NOTHING] * 3)[2].any()
    envs.close()


def test_resets_can_be_the_callers(tmp_path: Path) -> None:
    envs = envs_of(tmp_path, autoreset_mode="Disabled")
    _, begun = envs.reset(seed=[1, 2, 3])
    envs.step([NOTHING, DONE, NOTHING])
    with pytest.raises(StateError, match="environment 1;"):
        envs.step([NOTHING] * 3)
    _, infos = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert [*infos["_episode_dir"]] == [False, True, False] and infos["episode_dir"][1] != begun["episode_dir"][1]
    assert [*envs.step([NOTHING] * 3)[4]["step"]] == [2, 1, 2]
    for wrong in (np.zeros(3, dtype=np.bool_), np.ones(2, dtype=np.bool_), np.ones(3)):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": wrong})
    envs.close()


def test_a_dead_world_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    envs = envs_of(tmp_path, runner=MISBEHAVING.format("CrashingWorld"))
    envs.reset()
    move = {"kind": "move", "at": (3, 3)}
    for _ in range(2):
        seen, *_ = envs.step([move, NOTHING, move])
    last, rewards, terminations, truncations, infos = envs.step([move, NOTHING, NOTHING])
    assert [*truncations] == [True, False, False] and not terminations.any() and not rewards.any()
    assert infos["broken"][0].startswith("environment 0 on replica ") and "crashed" in infos["broken"][0]
    assert infos["outcome"][0]["status"] == "broken" and infos["outcome"][0]["blame"] == "world"
    assert np.array_equal(last["screen"][0], seen["screen"][0])
    _, _, _, truncations, infos = envs.step([NOTHING] * 3)
    assert not truncations.any() and [*infos["_episode_dir"]] == [True, False, False], "on a fresh replica"
    envs.close()


class Stuck(FakeWorld):
    """Its text never arrives."""

    let_go = threading.Event()

    def inject_action(self, action: dict[str, Any]) -> Any:
        if "keyboard" in action:
            self.let_go.wait(20)
        return super().inject_action(action)

    def abort(self) -> None:
        self.let_go.set()
        super().abort()


def test_a_hung_world_is_named_and_not_waited_for(tmp_path: Path) -> None:
    Stuck.let_go.clear()
    envs = envs_of(tmp_path, runner=f"{__name__}:Stuck", step_limit_s=0.5)
    envs.reset()
    _, _, _, truncations, infos = envs.step([NOTHING, {"keyboard": {"text": "x"}}, NOTHING])
    assert [*truncations] == [False, True, False]
    said = infos["broken"][1]
    assert said.startswith("environment 1 on replica ") and "timed out waiting for an answer to 'step'" in said
    assert [*infos["step"]][0::2] == [1, 1]
    assert not envs.step([NOTHING] * 3)[3].any()
    envs.close()


def test_an_update_between_two_steps_may_take_longer_than_a_lease(tmp_path: Path) -> None:
    envs = envs_of(tmp_path, 2, lease_s=0.2)
    envs.reset()
    time.sleep(0.7)
    _, _, _, truncations, infos = envs.step([NOTHING] * 2)
    assert not truncations.any() and "broken" not in infos
    envs.close()


def test_a_refused_action_ends_nothing(tmp_path: Path) -> None:
    envs = envs_of(tmp_path)
    envs.reset()
    _, _, terminations, truncations, infos = envs.step([{"kind": "fly"}, {"mouse": {"left_click": [999, 1]}}, NOTHING])
    assert not (terminations | truncations).any()
    assert "fly" in infos["refused"][0] and "999" in infos["refused"][1] and not infos["_refused"][2]
    with pytest.raises(ActionError, match="2 actions for 3"):
        envs.step([NOTHING] * 2)
    assert [*envs.step([NOTHING] * 3)[4]["step"]] == [1, 1, 2]
    envs.close()


class NeverUp(FakeWorld):
    """Its task cannot be set up."""

    def run_task_init(self, script: str) -> Any:
        raise WorldStartFailed("out of paper")


def test_an_environment_that_does_not_come_up_is_named(tmp_path: Path) -> None:
    task = task_spec(init={"init_script": "true"})
    envs = envs_of(tmp_path, 2, task, runner=f"{__name__}:NeverUp")
    with pytest.raises(ReplicaFailed, match=r"environment [01] does not come up: .*out of paper"):
        envs.reset()
    envs.close()


def test_wrappers_of_gymnasium_work(tmp_path: Path) -> None:
    envs = DictInfoToList(RecordEpisodeStatistics(envs_of(tmp_path, 2, render_mode="rgb_array")))
    envs.reset()
    *_, infos = envs.step([DONE, NOTHING])
    assert infos[0]["episode"]["l"] == 1 and infos[1]["step"] == 1
    assert envs.render()[0].shape == (48, 64, 3)
    envs.close()


def test_bad_arguments_are_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="replica for each"):
        ComputerVectorEnv(4, spec_of(tmp_path), replicas=3)
    with pytest.raises(ValueError, match="tasks is empty"):
        ComputerVectorEnv(1, spec_of(tmp_path), [])
    with pytest.raises(SpecInvalid, match="resolution"):
        ComputerVectorEnv(1, spec_of(tmp_path, observation=[{"type": "rgb_screen"}]))
    envs = envs_of(tmp_path)
    with pytest.raises(ValueError, match="2 seeds for 3"):
        envs.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="not speed"):
        envs.reset(options={"speed": 1})
    envs.close()
