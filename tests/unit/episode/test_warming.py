"""Worlds that are up before their task is known: what a pool keeps ready."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.state_dir import Run
from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import SpecInvalid, SpecNotFound, StateError, WorldLost
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import fake_env, task_spec

pytestmark = pytest.mark.unit


class Watched(FakeWorld):
    """Writes down its life, and a log into the folder it is told."""

    def on_episode_start(self, context: Any) -> None:
        super().on_episode_start(context)
        self.life().append(("told", context["task_id"]))

    def start(self, seed: int | None = None) -> None:
        super().start(seed)
        self.life().append(("start", seed))
        Path(self.episode_context["episode_dir"], "world.log").write_text("booted\n", encoding="utf-8")

    def run_hook(self, cmd: str, **rest: Any) -> int:
        self.life().append(("hook", rest["stage"]))
        return 3 if cmd == "fail" else 0

    def rest(self) -> None:
        self.life().append(("rest", None))

    def go_on(self) -> None:
        self.life().append(("go_on", None))

    def stop(self) -> None:
        if self.state not in ("new", "stopped"):
            self.life().append(("stop", None))
        super().stop()

    def life(self) -> list[tuple[str, Any]]:
        return self.__dict__.setdefault("_life", [])  # type: ignore[no-any-return]


def watched(folder: Path, **changes: Any) -> tuple[GymAnythingEnv, list[tuple[str, Any]]]:
    env = fake_env(folder, runner=f"{__name__}:Watched", **changes)
    runner = env.runner
    assert isinstance(runner, Watched)
    return env, runner.life()


def trajectory(env: GymAnythingEnv) -> list[dict[str, Any]]:
    assert env.episode_dir is not None
    return [json.loads(line) for line in (env.episode_dir / "traj.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_task_is_set_up_in_the_world_that_was_warm(tmp_path: Path) -> None:
    hooks = {"pre_start": "a", "post_start": "b", "reset": "c"}
    others = set(Run.current().worlds)
    env, life = watched(tmp_path, hooks=hooks)
    with env:
        env.warm_up()
        assert env.is_warm and env.episode_dir is None
        hooks_run = [("hook", "pre_start"), ("hook", "post_start")]
        assert life == [("told", None), ("start", None), *hooks_run, ("rest", None)]
        env.set_task(task_spec(hooks={"pre_task": "d"}))
        observation = env.reset()
        assert life[5:] == [("told", "task@1"), ("go_on", None), ("hook", "reset"), ("hook", "pre_task")]
        assert not env.is_warm and "screen" in observation
        assert env.episode_dir is not None and (env.episode_dir / "world.log").read_text(encoding="utf-8") == "booted\n"
        assert [event["event"] for event in trajectory(env)] == ["reset", "session"]
        assert trajectory(env)[0]["task_id"] == "task@1"
        _, _, done, info = env.step({"mouse": {"left_click": [1, 1]}}, mark_done=True)
        assert done and info["episode_timings"]["warm_start_s"] >= 0
    assert [event for event, _ in life].count("start") == 1
    assert set(Run.current().worlds) <= others, "the folder it had before its episode is gone"


def test_what_failed_before_the_episode_is_part_of_it(tmp_path: Path) -> None:
    env, _ = watched(tmp_path, hooks={"post_start": "fail"})
    with env:
        env.warm_up()
        env.set_task(task_spec())
        env.reset()
        assert any("post_start exited with 3" in warning for warning in env.warnings)
        _, _, _, info = env.step(None, mark_done=True)
        assert info["outcome"]["status"] == "broken" and "post_start" in info["outcome"]["story"]
        failed = [event for event in trajectory(env) if event["event"] == "setup_failed"]
        assert [(event["stage"], event["exit_code"]) for event in failed] == [("post_start", 3)]
        env.set_task(None)
        assert not any("post_start" in warning for warning in env.warnings), "another task, another page"


def test_another_seed_or_cache_begins_with_a_world_of_its_own(tmp_path: Path) -> None:
    env, life = watched(tmp_path)
    with env:
        env.warm_up(seed=1)
        env.reset(seed=2)
        assert [seed for event, seed in life if event == "start"] == [1, 2]
        env.warm_up(seed=3)
        env.reset(seed=3)
        assert [seed for event, seed in life if event == "start"] == [1, 2, 3]
        env.warm_up()
        env.reset(use_cache=True, cache_level="post_start")
        starts = [seed for event, seed in life if event == "start"]
        assert len(starts) == 5, "what was warm came from no checkpoint"


def test_a_checkpoint_makes_worlds_warm(tmp_path: Path) -> None:
    env, life = watched(tmp_path, hooks={"post_start": "b"}, id="warm-checkpoint@1")
    with env:
        env.warm_up(use_cache=True)
        env.warm_up(use_cache=True)
        assert [event for event, _ in life].count("hook") == 1
        env.reset(use_cache=True, cache_level="post_start")
        _, _, _, info = env.step(None, mark_done=True)
    assert "warm_restore_s" in info["episode_timings"]
    env.set_task(task_spec())
    with pytest.raises(SpecInvalid, match="post_start"):
        env.warm_up(use_cache=True, cache_level="post_task")


def test_a_world_that_was_never_used_leaves_nothing(tmp_path: Path) -> None:
    others = set(Run.current().worlds)
    env, life = watched(tmp_path)
    env.warm_up()
    env.close()
    assert life[-1] == ("stop", None) and not env.is_warm
    assert not (tmp_path / "artifacts").exists() and set(Run.current().worlds) <= others


def test_a_warm_world_that_died_is_an_error_and_the_next_reset_works(tmp_path: Path) -> None:
    env, _ = watched(tmp_path, hooks={"reset": "c"})
    with env:
        env.warm_up()
        assert isinstance(env.runner, FakeWorld)
        env.runner.lose()
        with pytest.raises(WorldLost):
            env.reset()
        assert "screen" in env.reset()


def test_a_task_is_not_changed_under_an_open_episode(tmp_path: Path) -> None:
    env, _ = watched(tmp_path)
    with env:
        env.set_task(task_spec(init={"max_steps": 3}))
        assert env.max_steps == 3
        env.reset()
        with pytest.raises(StateError, match="an episode is open"):
            env.set_task(None)
        env.step(None, mark_done=True)
        env.set_task(None)
        assert env.task_spec is None and env.max_steps is None
        with pytest.raises(SpecNotFound):
            env.set_task("no_such_task")
