"""Branching an episode: forks go on where the source is, with artifacts of their own; nothing is left of a failure."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import (
    Aborted,
    SpecInvalid,
    StateError,
    UnsupportedFeature,
    WorldLost,
    WorldStartFailed,
)
from gym_anything.runtime.runners.registry import resolve_runner
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.testing.fakes.world import TYPED_FILE, FakeWorld
from tests.unit.episode.fake_envs import env_spec, fake_env, task_spec

pytestmark = pytest.mark.unit

JUDGED = {
    "success": {"mode": "program", "spec": {"program": "gym_anything.testing.fakes.judge:verify_typed"}},
    "metadata": {"text": "ab"},
}


def type_text(env: GymAnythingEnv, text: str) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
    return env.step([{"keyboard": {"text": text}}])


def typed(env: GymAnythingEnv) -> str:
    runner = env.runner
    assert isinstance(runner, FakeWorld)
    return runner.files.read(TYPED_FILE).decode()


def world(env: GymAnythingEnv) -> FakeWorld:
    assert isinstance(env.runner, FakeWorld)
    return env.runner


def events(env: GymAnythingEnv) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(str(env.episode_dir)) / "traj.jsonl").read_text().splitlines()]


def summary(env: GymAnythingEnv) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(str(env.episode_dir)) / "summary.json").read_text())
    return found


def test_forks_go_on_from_the_present_state_and_do_not_see_each_other(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset(seed=3)
        type_text(env, "a")
        first, second = env.fork(2)
        with first, second:
            for fork, text in ((first, "x"), (second, "y"), (env, "z")):
                obs, _, done, info = type_text(fork, text)
                assert not done
                assert info["step"] == 2
                assert Path(obs["screen"]["path"]).parent == fork.episode_dir
            assert [typed(fork) for fork in (first, second, env)] == ["ax", "ay", "az"]


def test_a_fork_says_where_it_comes_from_and_holds_the_whole_past(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        type_text(env, "a")
        with env.fork(2)[1] as fork:
            type_text(fork, "b")
            with fork.fork(1)[0] as grandchild:
                names = [Path(str(each.episode_dir)).name for each in (env, fork)]
                assert fork.lineage == {
                    "parent": names[0],
                    "ancestors": names[:1],
                    "step": 1,
                    "index": 1,
                    "count": 2,
                }
                assert grandchild.lineage == {
                    "parent": names[1],
                    "ancestors": names,
                    "step": 2,
                    "index": 0,
                    "count": 1,
                }
                assert env.lineage is None
                kinds = [event["event"] for event in events(grandchild)]
                begun = ["reset", "session", "step", "forked_from", "session", "step", "forked_from", "session"]
                assert kinds == begun
                assert [event["step"] for event in events(grandchild) if event["event"] == "step"] == [1, 2]
                assert {path.name for path in Path(str(grandchild.episode_dir)).glob("frame_*.png")} == {
                    "frame_00000.png",
                    "frame_00001.png",
                    "frame_00002.png",
                }
        told = [event for event in events(env) if event["event"] == "fork"]
        assert (told[0]["step"], len(told[0]["forks"]), told[0]["forks"][1]) == (1, 2, names[1])
    assert summary(grandchild)["lineage"] == grandchild.lineage
    assert "lineage" not in summary(env)


def test_each_fork_has_a_verdict_of_its_own_and_closing_one_touches_no_other(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(**JUDGED)) as env:
        env.reset()
        type_text(env, "a")
        right, wrong = env.fork(2)
        with right, wrong:
            type_text(right, "b")
            assert right.step([], mark_done=True)[3]["outcome"]["status"] == "passed"
            right.close()
            assert wrong.step([], mark_done=True)[3]["outcome"]["status"] == "failed"
            wrong.close()
            type_text(env, "b")
            assert env.step([], mark_done=True)[3]["outcome"]["status"] == "passed"
    assert [summary(each)["steps"] for each in (env, right, wrong)] == [3, 3, 2]


def test_limits_go_on_counting_and_are_each_environments_own(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.set_episode_limits(max_steps=3)
        env.reset()
        type_text(env, "a")
        with env.fork(1)[0] as fork:
            fork.set_episode_limits(max_steps=2)
            assert type_text(fork, "b")[2]
            assert not type_text(env, "b")[2]
            assert type_text(env, "c")[3]["reason"] == "max_steps"


def test_nothing_is_held_pressed_after_a_fork_in_no_world(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        env.step([{"keyboard": {"keys_down": ["shift"]}}])
        assert world(env).held
        with env.fork(1)[0] as fork:
            assert not world(env).held
            assert not world(fork).held


def test_a_forked_environment_can_be_reset(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        type_text(env, "a")
        with env.fork(1)[0] as fork:
            fork.reset()
            assert fork.lineage is None
            assert world(fork).typed == ""
        assert typed(env) == "a"


def test_fast_mode_and_the_turn_of_roles_are_taken_over(tmp_path: Path) -> None:
    roles = {"roles": ["left", "right"], "turn_based": True}
    with fake_env(tmp_path, fast_io=True, multi_agent=roles) as env:
        env.reset()
        type_text(env, "a")
        with env.fork(1)[0] as fork:
            assert world(fork).fast
            step = type_text(fork, "b")
            assert step[0]["screen"]["array"].shape == (48, 64, 3)
            assert [e["actions"][0]["_role"] for e in events(fork) if e["event"] == "step"] == ["left", "right"]
            type_text(env, "b")
            assert [e["actions"][0]["_role"] for e in events(env) if e["event"] == "step"] == ["left", "right"]


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "2"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, wrong: Any) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        with pytest.raises(SpecInvalid, match="positive integer"):
            env.fork(wrong)
        type_text(env, "it goes on")


def test_there_is_nothing_to_fork_before_reset_and_after_the_end(tmp_path: Path) -> None:
    env = fake_env(tmp_path)
    with pytest.raises(StateError, match="reset"):
        env.fork(1)
    env.reset()
    env.close()
    with pytest.raises(StateError, match="over"):
        env.fork(1)


def test_a_world_that_cannot_says_so_and_nothing_is_changed(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner_options={"fork": False}) as env:
        env.reset()
        env.step([{"keyboard": {"keys_down": ["shift"]}}])
        with pytest.raises(UnsupportedFeature, match=r"its option fork is off.*use_cache=True") as caught:
            env.fork(2)
        assert caught.value.detail["feature"] == "fork"
        assert world(env).held
        assert len(list((tmp_path / "artifacts").iterdir())) == 1


def test_when_one_fork_does_not_start_none_is_left_and_the_source_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[FakeWorld] = []
    real = FakeWorld.start_from_branch

    def fail_the_third(self: FakeWorld, point: Any, seed: int | None = None) -> None:
        started.append(self)
        if len(started) == 3:
            raise WorldLost("it died at once")
        real(self, point, seed)

    monkeypatch.setattr(FakeWorld, "start_from_branch", fail_the_third)
    with fake_env(tmp_path) as env:
        env.reset()
        with pytest.raises(WorldStartFailed, match="it died at once"):
            env.fork(3)
        assert {fork.state for fork in started} <= {"stopped", "new"}
        assert [path.name for path in (tmp_path / "artifacts").iterdir()] == [Path(str(env.episode_dir)).name]
        type_text(env, "on")
        assert typed(env) == "on"


def test_abort_ends_a_fork_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = fake_env(tmp_path)
    env.reset()
    monkeypatch.setattr(FakeWorld, "boot", lambda self: self._wait(Deadline.after(60), "start"))
    threading.Timer(0.2, env.abort).start()
    began = time.monotonic()
    with pytest.raises(Aborted):
        env.fork(2)
    assert time.monotonic() - began < 2
    env.close()
    assert len(list((tmp_path / "artifacts").iterdir())) == 1


def test_a_world_lost_in_the_branching_ends_the_source(tmp_path: Path) -> None:
    env = fake_env(tmp_path)
    env.reset()
    world(env).lose("it was killed")
    with pytest.raises(WorldLost):
        env.fork(1)
    env.close()
    assert summary(env)["reason"] == "world_lost"


def test_the_recorder_does_not_look_while_the_world_branches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    branching = threading.Event()
    looked: list[bool] = []
    look, branch = FakeWorld.capture_frame, FakeWorld.branch

    def noting(self: FakeWorld, after_input: int | None = None) -> Any:
        looked.append(branching.is_set())
        return look(self, after_input)

    def slow(self: FakeWorld) -> Any:
        branching.set()
        threading.Event().wait(0.3)
        branching.clear()
        return branch(self)

    monkeypatch.setattr(FakeWorld, "capture_frame", noting)
    monkeypatch.setattr(FakeWorld, "branch", slow)
    with fake_env(tmp_path, recording={"enable": True, "video_fps": 30}) as env:
        env.reset()
        with env.fork(1)[0] as fork:
            type_text(fork, "a")
            assert looked
            assert not any(looked)
    assert (Path(str(env.episode_dir)) / "recording.mp4").stat().st_size > 0
    assert (Path(str(fork.episode_dir)) / "recording.mp4").stat().st_size > 0


@pytest.mark.parametrize("key", ["local", "docker", "apptainer"])
def test_worlds_that_share_the_hosts_kernel_say_why_they_cannot(key: str) -> None:
    runner = resolve_runner(key)(EnvSpec.from_dict(env_spec(Path("/nowhere"), runner=key, runner_options={})))
    assert not runner.supports_fork()
    with pytest.raises(UnsupportedFeature, match=r"processes of this host.*cache_level='post_task'"):
        runner.branch()
