"""Reset: the order of the stages, caches, failed set-up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import (
    GuestCommandFailed,
    SpecInvalid,
    StateError,
    UnsupportedFeature,
    WorldStartFailed,
)
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import MISBEHAVING, fake_env, task_spec

pytestmark = pytest.mark.unit

HOOKS = {"pre_start": "echo pre_start >> /tmp/order", "post_start": "echo post_start >> /tmp/order",
         "reset": "echo hooks.reset >> /tmp/order"}  # fmt: skip
TASK = task_spec(
    hooks={"pre_task": "echo pre_task >> /tmp/order", "post_task": "echo post_task >> /tmp/order"},
    init={"init_script": "echo init_script >> /tmp/order", "init_pyautogui": [{"type": "text", "text": "typed"}]},
    extras={"post_task_settle_sec": 0},
)


class PlainCheckpoints(FakeWorld):
    """A fake world that keeps disks, not memory."""

    def supports_savevm(self) -> bool:
        return False


class NoCheckpoints(FakeWorld):
    """A fake world that keeps nothing."""

    def supports_checkpoint_caching(self) -> bool:
        return False


class BadCheckpoints(FakeWorld):
    """It says that it saved, by returning False that it did not."""

    def create_checkpoint(self) -> bool:
        return False


def world(env: Any) -> FakeWorld:
    assert isinstance(env.runner, FakeWorld)
    return env.runner


def order(env: Any) -> list[str]:
    return world(env).files.read("/tmp/order").decode().split()


def locator(cls: type) -> str:
    return f"{__name__}:{cls.__name__}"


def test_the_stages_run_in_the_order_of_the_contract(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, hooks=HOOKS, reset_script="echo reset_script >> /tmp/order") as env:
        observation = env.reset()
        assert order(env) == ["pre_start", "post_start", "reset_script", "hooks.reset", "pre_task", "init_script"]
        assert world(env).typed == "typed"
        assert Path(observation["screen"]["path"]).is_file()
        env.step([], mark_done=True)
        assert order(env)[-1] == "post_task"


def test_hooks_see_the_seed_and_the_episode_context(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, reset_script="echo $GYM_ANYTHING_SEED > /tmp/seed") as env:
        env.reset(seed=7)
        assert world(env).files.read("/tmp/seed") == b"7\n"
        assert world(env).seed == 7
        assert world(env).episode_context == {
            "episode_dir": str(env.episode_dir), "env_id": "fake@1", "task_id": "task@1", "seed": 7,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("level", "skipped"),
    [
        ("pre_start", ["pre_start"]),
        ("post_start", ["pre_start", "post_start"]),
        ("post_task", ["pre_start", "post_start", "pre_task", "init_script"]),
    ],
)
def test_a_level_skips_what_came_before_and_reset_always_runs(tmp_path: Path, level: Any, skipped: list[str]) -> None:
    """K7: reset really resets; what is in the checkpoint is there, what is not runs again."""
    everything = ["pre_start", "post_start", "hooks.reset", "pre_task", "init_script"]
    hooks = {name: f"echo {text} >> /tmp/{level}" for name, text in
             (("pre_start", "pre_start"), ("post_start", "post_start"), ("reset", "hooks.reset"))}  # fmt: skip
    task = task_spec(
        hooks={"pre_task": f"echo pre_task >> /tmp/{level}"}, init={"init_script": f"echo init_script >> /tmp/{level}"}
    )
    counts: list[list[str]] = []
    with fake_env(tmp_path, task, hooks=hooks, description=f"level {level}") as env:
        for _ in range(2):
            env.reset(use_cache=True, cache_level=level)
            counts.append(world(env).files.read(f"/tmp/{level}").decode().split())
            summary_level = env._episode.restored_level  # type: ignore[union-attr]
        assert summary_level == level
    # The one that makes the checkpoint of its task goes on as those that start from it.
    assert counts[0] == everything + ["hooks.reset"] * (level == "post_task")
    kept = [name for name in everything if name in skipped or name == "hooks.reset"]
    again = [name for name in everything if name not in skipped]
    in_checkpoint = [n for n in kept if n != "hooks.reset" or level == "post_task"]
    assert sorted(counts[1]) == sorted(in_checkpoint + again)


def test_a_lower_level_is_loaded_and_then_the_asked_one_is_made(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, hooks=HOOKS, description="lower level") as env:
        env.reset(use_cache=True, cache_level="pre_start")
        env.reset(use_cache=True, cache_level="post_start")
        assert env._episode.restored_level == "pre_start"  # type: ignore[union-attr]
        env.reset(use_cache=True, cache_level="post_start")
        assert env._episode.restored_level == "post_start"  # type: ignore[union-attr]


def test_the_default_level_is_the_specs(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, default_cache_level="pre_start", description="default level") as env:
        env.reset(use_cache=True, cache_level="default")
        env.reset(use_cache=True, cache_level="default")
        assert env._episode.restored_level == "pre_start"  # type: ignore[union-attr]


def test_savevm_asks_for_a_cache_by_itself(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, description="savevm") as env:
        env.reset(use_savevm=True, cache_level="post_start")
        env.reset(use_savevm=True, cache_level="post_start")
        assert env._episode.restored_level == "post_start"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("runner", "asked", "feature"),
    [
        (NoCheckpoints, {"use_cache": True}, "use_cache"),
        (PlainCheckpoints, {"use_cache": True, "use_savevm": True}, "use_savevm"),
    ],
)
def test_a_cache_the_runner_lacks_is_a_clear_error(
    tmp_path: Path, runner: type, asked: dict[str, bool], feature: str
) -> None:
    with fake_env(tmp_path, TASK, runner=locator(runner)) as env:
        with pytest.raises(UnsupportedFeature) as error:
            env.reset(**asked)  # type: ignore[arg-type]
        assert error.value.detail["feature"] == feature
        assert env.episode_dir is None, "nothing was begun"


def test_a_task_level_needs_a_task_and_a_level_needs_a_name(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        with pytest.raises(UnsupportedFeature, match="no task"):
            env.reset(use_cache=True, cache_level="post_task")
        with pytest.raises(SpecInvalid, match="cache_level"):
            env.reset(use_cache=True, cache_level="later")  # type: ignore[arg-type]


def test_a_checkpoint_that_was_not_made_is_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, runner=locator(BadCheckpoints), description="bad checkpoints") as env:
        env.reset(use_cache=True)
        assert any("pre_start checkpoint was not made" in w for w in env.warnings)


def test_a_failed_hook_makes_no_checkpoint_and_marks_the_episode(tmp_path: Path) -> None:
    """V1: a failed set-up is never scored as a failed task."""
    hooks = {"post_start": "echo the disk is full; exit 3"}
    with fake_env(tmp_path, TASK, hooks=hooks, description="failed hook") as env:
        env.reset(use_cache=True, cache_level="post_start")
        assert any("post_start exited with 3" in w and "the disk is full" in w for w in env.warnings)
        assert any("no post_start checkpoint" in w for w in env.warnings)
        assert not world(env).checkpoint_exists()
        assert env.setup_failed == ["post_start"]
        _, reward, done, info = env.step([], mark_done=True)
    assert done and reward == 0.0
    assert info["setup_failed"] == ["post_start"]
    assert info["outcome"]["status"] == "broken"
    assert info["outcome"]["blame"] == "content"
    assert "the disk is full" in info["outcome"]["story"]
    assert env.episode_dir is not None
    summary = json.loads((env.episode_dir / "summary.json").read_text())
    assert summary["setup_failed"] == ["post_start"]


def test_strict_hooks_raise_and_stop_the_world(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, hooks={"pre_start": "echo why; exit 9"}, strict_hooks=True) as env:
        with pytest.raises(GuestCommandFailed, match="why") as error:
            env.reset()
        assert error.value.detail["exit_code"] == 9
        assert world(env).state == "stopped"


def test_a_failed_init_script_is_a_failed_setup(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(init={"init_script": "exit 4"})) as env:
        env.reset()
        _, _, _, info = env.step([], mark_done=True)
    assert info["setup_failed"] == ["init_script"]
    assert info["outcome"]["blame"] == "content"


def test_a_hook_that_takes_too_long_is_a_failed_setup(tmp_path: Path) -> None:
    class_name = locator(SlowPreTask)
    with fake_env(tmp_path, task_spec(hooks={"pre_task": "anything"}), runner=class_name) as env:
        env.reset()
        assert any("pre_task" in w and "time-out" in w for w in env.warnings)


class SlowPreTask(FakeWorld):
    """Its hooks are killed at their time-out."""

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        assert timeout == 600, "pre_task_timeout's default reaches the runner"
        raise GuestCommandFailed("killed after its time-out", detail={"timed_out": True, "exit_code": 137})


def test_a_world_that_does_not_start_leaves_nothing_and_can_be_tried_again(tmp_path: Path) -> None:
    """L1: start and wait is one guarded unit."""
    runner = MISBEHAVING.format("NeverReadyWorld")
    with fake_env(tmp_path, TASK, runner=runner) as env:
        for _ in range(2):
            with pytest.raises(WorldStartFailed):
                env.reset()
            assert world(env).state == "stopped"
        assert env.episode_dir is not None
        summary = json.loads((env.episode_dir / "summary.json").read_text())
    assert summary["outcome"]["status"] == "broken"
    assert summary["outcome"]["blame"] == "world"
    assert summary["outcome"]["detail"]["code"] == "world-boot-timed-out"


def test_reset_completes_an_open_episode_first(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK) as env:
        env.reset()
        first = env.episode_dir
        env.reset()
        assert first is not None and first != env.episode_dir
        assert json.loads((first / "summary.json").read_text())["reason"] == "closed"


def test_episode_folders_are_named_by_time_and_a_random_part(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        folders = set()
        for _ in range(3):
            env.reset()
            assert env.episode_dir is not None
            folders.add(env.episode_dir.name)
            assert env.episode_dir.parent == tmp_path / "artifacts"
    assert len(folders) == 3
    assert all(name.startswith("episode_2") for name in folders)


def test_apply_post_reset_setup_runs_the_task_stages_again(tmp_path: Path) -> None:
    with fake_env(tmp_path, TASK, hooks=HOOKS) as env:
        env.reset()
        before = order(env)
        observation = env.apply_post_reset_setup()
        assert order(env) == [*before, "hooks.reset", "pre_task", "init_script"]
        assert "screen" in observation


def test_methods_before_reset_say_so(tmp_path: Path) -> None:
    env = fake_env(tmp_path)
    for call in (
        lambda: env.step([]),
        env.evaluate,
        env.capture_observation,
        env.capture_screenshot_image,
        env.save_state,
        lambda: env.log_trajectory_event("x"),
        lambda: env.copy_to_env("/a", "/b"),
    ):
        with pytest.raises(StateError, match="reset"):
            call()
    env.pause_recording()
    env.resume_recording()
    env.close()
    env.close()
