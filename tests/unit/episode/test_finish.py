"""The end of an episode: order, artifacts, interrupts, what the caller can leave by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import HostError, StateError
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import fake_env, task_spec

pytestmark = pytest.mark.unit

CLICK = {"mouse": {"left_click": [1, 1]}}


def locator(cls: type) -> str:
    return f"{__name__}:{cls.__name__}"


class InterruptedWorld(FakeWorld):
    """Ctrl-C comes while one of its methods runs."""

    at = ""

    def start(self, seed: int | None = None) -> None:
        super().start(seed)
        self._maybe("start")

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        self._maybe(stage)
        return super().run_hook(cmd, stage=stage, timeout=timeout, use_pty=use_pty)

    def inject_action(self, action: dict[str, Any]) -> Any:
        self._maybe("inject")
        return super().inject_action(action)

    def capture_frame(self, after_input: int | None = None) -> Any:
        self._maybe("capture")
        return super().capture_frame(after_input)

    def release_held_inputs(self) -> None:
        self._maybe("release")
        super().release_held_inputs()

    def create_checkpoint(self) -> bool:
        self._maybe("checkpoint")
        return super().create_checkpoint()

    def _maybe(self, where: str) -> None:
        if type(self).at == where:
            raise KeyboardInterrupt


HOOKS = {"pre_start": "true", "post_start": "true", "reset": "true"}
TASK = task_spec(hooks={"pre_task": "true", "post_task": "true"}, extras={"post_task_settle_sec": 0})


@pytest.mark.parametrize(
    "at",
    [
        "start",
        "pre_start",
        "post_start",
        "reset",
        "pre_task",
        "checkpoint",
        "capture",
        "inject",
        "release",
        "post_task",
    ],
)
def test_an_interrupt_at_any_point_stops_the_world_and_goes_on_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """L2: interrupt during start, a step or the verdict: nothing is left."""
    monkeypatch.setattr(InterruptedWorld, "at", at)
    env = fake_env(tmp_path, TASK, runner=locator(InterruptedWorld), hooks=HOOKS, description=f"interrupt {at}")
    with pytest.raises(KeyboardInterrupt):
        env.reset(use_cache=True, cache_level="post_task")
        env.step(CLICK)
        env.step(CLICK, mark_done=True)
    assert env.runner.state == "stopped"  # type: ignore[attr-defined]
    assert env.episode_dir is not None
    summary = json.loads((env.episode_dir / "summary.json").read_text())
    assert summary["reason"] == "interrupted" and summary["outcome"]["status"] == "broken"
    assert summary["outcome"]["blame"] == "caller"
    env.close()


def test_the_folder_holds_what_the_contract_lists(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(), recording={"enable": True}) as env:
        env.reset(seed=4)
        env.step(CLICK, trajectory_metadata={"thought": "click it"})
        env.log_trajectory_event("note", {"a": 1}, b=2)
        env.step([], mark_done=True)
        folder = env.episode_dir
    assert folder is not None
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "traj.jsonl", "frame_00000.png", "frame_00001.png", "frame_00002.png", "post_verification.png", "final.png",
        "summary.json", "recording.mp4",
    }  # fmt: skip
    events = [json.loads(line) for line in (folder / "traj.jsonl").read_text().splitlines()]
    assert [e["event"] for e in events] == ["reset", "session", "step", "note", "step", "finalize"]
    assert events[2]["metadata"] == {"thought": "click it"} and events[2]["frame"] == "frame_00001.png"
    assert (events[3]["a"], events[3]["b"]) == (1, 2)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["env"] == "fake@1" and summary["task"] == "task@1" and summary["steps"] == 2
    assert summary["start_ts"] < summary["end_ts"] and summary["seed"] == 4
    assert summary["verifier"]["decided"] is False


def test_a_task_without_a_judge_is_broken_content_not_a_fail(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        _, reward, _, info = env.step([], mark_done=True)
    assert reward == 0.0
    assert info["outcome"]["status"] == "broken" and info["outcome"]["blame"] == "content"
    assert info["verifier"]["decided"] is False and info["verifier"]["mode"] == "none"


def test_without_a_task_there_is_nothing_to_judge(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        info = env.step([], mark_done=True)[3]
    assert info["outcome"] is None and info["verifier"]["decided"] is False


def test_close_completes_an_open_episode_and_is_harmless_when_repeated(tmp_path: Path) -> None:
    env = fake_env(tmp_path, task_spec())
    env.reset()
    env.close()
    assert env.episode_dir is not None
    written = (env.episode_dir / "summary.json").read_bytes()
    env.close()
    assert (env.episode_dir / "summary.json").read_bytes() == written
    assert json.loads(written)["reason"] == "closed"
    assert env.runner.state == "stopped"  # type: ignore[attr-defined]


def test_leaving_by_an_exception_ends_the_episode_without_a_verdict(tmp_path: Path) -> None:
    env = fake_env(tmp_path, TASK)
    with pytest.raises(ZeroDivisionError), env:
        env.reset()
        1 / 0  # noqa: B018
    assert env.runner.state == "stopped"  # type: ignore[attr-defined]
    assert env.episode_dir is not None
    outcome = json.loads((env.episode_dir / "summary.json").read_text())["outcome"]
    assert outcome["status"] == "broken" and outcome["blame"] == "caller" and "ZeroDivisionError" in outcome["story"]


class CountingWorld(FakeWorld):
    """It counts its hooks and tells where its clock was."""

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        self.__dict__.setdefault("stages", []).append((stage, timeout, self.clock.now()))
        return 5 if cmd == "fail" else 0


def test_post_task_settles_as_long_as_asked_and_only_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Argument, environment, task, default: in this order."""

    def settle(task: dict[str, Any]) -> float:
        with fake_env(tmp_path, task, runner=locator(CountingWorld)) as env:
            env.reset()
            before = env.runner.clock.now()  # type: ignore[attr-defined]
            env.step([], mark_done=True, settle_after_actions=False)
            return float(env.runner.clock.now() - before - 0.1)  # type: ignore[attr-defined]

    hooks = {"post_task": "true"}
    assert settle(task_spec()) == pytest.approx(0)
    assert settle(task_spec(hooks=hooks)) == pytest.approx(15)
    assert settle(task_spec(hooks=hooks, metadata={"post_task_settle_sec": 3})) == pytest.approx(3)
    assert settle(
        task_spec(hooks=hooks, extras={"post_task_settle_sec": 1}, metadata={"post_task_settle_sec": 3})
    ) == pytest.approx(1)
    monkeypatch.setenv("GYM_ANYTHING_POST_TASK_SETTLE_SEC", "7")
    assert settle(task_spec(hooks=hooks, extras={"post_task_settle_sec": 1})) == pytest.approx(7)


def test_time_outs_of_hooks_reach_the_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_HOOK_TIMEOUT", "77")
    task = task_spec(
        hooks={"pre_task": "x", "pre_task_timeout": 9, "post_task": "x"}, extras={"post_task_settle_sec": 0}
    )
    with fake_env(tmp_path, task, runner=locator(CountingWorld), hooks=HOOKS) as env:
        env.reset()
        env.step([], mark_done=True)
        stages = [(stage, limit) for stage, limit, _ in env.runner.stages]  # type: ignore[attr-defined]
    assert stages == [("pre_start", 77), ("post_start", 77), ("reset", 77), ("pre_task", 9), ("post_task", 77)]


def test_a_failing_export_is_a_warning_for_the_judge_to_decide(tmp_path: Path) -> None:
    task = task_spec(hooks={"post_task": "fail"}, extras={"post_task_settle_sec": 0})
    with fake_env(tmp_path, task, runner=locator(CountingWorld)) as env:
        env.reset()
        env.step([], mark_done=True)
        assert "post_task hook exited with 5" in env.warnings


def test_secrets_reach_guest_commands_and_no_artifact(tmp_path: Path) -> None:
    """N1: no secret in logs, artifacts or process lists."""
    from gym_anything.episode.factory import from_config
    from tests.unit.episode.fake_envs import env_spec

    root = tmp_path / "env"
    (root / "tasks" / "t").mkdir(parents=True)
    spec = env_spec(tmp_path, security={"secrets_ref": "secrets.json"}, hooks={"post_start": "echo $TOKEN; exit 1"})
    (root / "env.json").write_text(json.dumps(spec))
    (root / "secrets.json").write_text('{"TOKEN": "tok-93f1c2"}')
    (root / "tasks" / "t" / "task.json").write_text(json.dumps(task_spec()))
    with from_config(root) as env:
        env.reset()
        assert env.runner.exec_capture("echo $TOKEN") == "tok-93f1c2\n"
        env.step({"keyboard": {"text": "tok-93f1c2"}})
        env.log_trajectory_event("said", {"text": "it is tok-93f1c2"})
        info = env.step([], mark_done=True)[3]
        folder = env.episode_dir
    assert folder is not None
    assert "[secret]" in info["outcome"]["story"]
    assert "tok-93f1c2" not in json.dumps(info, default=str) + "".join(env.warnings)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.parent.name == "diagnostics" for path in files), "the failed hook's log is among them"
    for path in files:
        assert b"tok-93f1c2" not in path.read_bytes(), path.name


def test_diagnostics_are_the_guests_logs_without_secrets(tmp_path: Path) -> None:
    hooks = {"pre_start": "echo installing", "post_start": "echo starting"}
    with fake_env(tmp_path, task_spec(), hooks=hooks, diagnostics=True) as env:
        env.reset()
        env.step([], mark_done=True)
        folder = env.episode_dir
    assert folder is not None
    logs = {path.name: path.read_text() for path in (folder / "diagnostics").iterdir()}
    assert logs == {"env_setup_pre_start.log": "installing\n", "env_setup_post_start.log": "starting\n"}
    with fake_env(tmp_path, task_spec(), hooks=hooks) as env:
        env.reset()
        env.step([], mark_done=True)
        assert env.episode_dir is not None and not (env.episode_dir / "diagnostics").exists()
    with fake_env(tmp_path, task_spec(), hooks={"pre_start": "echo no space left; exit 1"}) as env:
        env.reset()
        env.step([], mark_done=True)
        assert env.episode_dir is not None
        assert "no space left" in (env.episode_dir / "diagnostics" / "env_setup_pre_start.log").read_text()


def test_state_can_be_saved_and_loaded(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        env.reset()
        (tmp_path / "a").write_text("one")
        env.copy_to_env(tmp_path / "a", "/home/ga/a")
        snapshot = env.save_state(["/home/ga"])
        env.runner.exec("echo two > /home/ga/a")
        env.load_state(snapshot)
        assert env.copy_from_env("/home/ga/a", tmp_path / "b") == str(tmp_path / "b")
        assert (tmp_path / "b").read_text() == "one"
        with pytest.raises(FileNotFoundError):
            env.copy_from_env("/home/ga/nothing", tmp_path / "c")


def test_session_info_and_compatibility_profile_tell_of_the_world(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec(), security={"cap_drop": ["ALL"]}) as env:
        env.reset()
        info = env.get_session_info()
        profile = env.get_compatibility_profile()
    assert info.env_id == "fake@1" and info.task_id == "task@1" and info.resolution == (64, 48)
    assert info.runner_name == env.runner_name and info.artifacts_dir == str(env.episode_dir)
    assert profile["fast_io"] is True and profile["checkpoint_caching"] is True
    assert ["security.cap_drop", "a fake world has no machine behind it"] in profile["unenforced_fields"]
    assert any("security.cap_drop is not enforced" in w for w in env.warnings), "and it is said when it is made"


def test_the_final_state_can_be_looked_at_until_close(tmp_path: Path) -> None:
    env = fake_env(tmp_path, task_spec())
    env.reset()
    env.step([], mark_done=True)
    assert "screen" in env.capture_observation() and env.capture_screenshot_image().size == (64, 48)
    env.runner.exec("echo x > /tmp/x")
    env.copy_from_env("/tmp/x", tmp_path / "x")
    env.close()
    for call in (env.capture_observation, env.capture_screenshot_image, lambda: env.copy_from_env("/tmp/x", "y")):
        with pytest.raises(StateError, match="stopped"):
            call()


def test_a_reporter_that_raises_spoils_nothing(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env._session.reporter = lambda event, **facts: 1 / 0
        env.reset()
        assert any("ZeroDivisionError" in w for w in env.warnings)


def test_a_folder_that_cannot_be_written_is_the_hosts_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with fake_env(tmp_path, recording={"output_dir": str(tmp_path / "file" / "x")}) as env:
        with pytest.raises(HostError, match="output_dir"):
            env.reset()
        assert env.runner.state == "new"  # type: ignore[attr-defined]


def test_the_reporter_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    with fake_env(tmp_path, task_spec()) as env:
        env.set_reporter(lambda event, **facts: told.append(event))
        env.reset()
        env.step([], mark_done=True)
    assert told[0] == "starting" and told[-1] == "finished"


class NotingWorld(FakeWorld):
    """A world that comes up in another way than asked, and says so."""

    def start(self, seed: int | None = None) -> None:
        super().start(seed)
        self.report("note", text="VNC port 5901 is taken; it is 4001 instead")
        self.report("booting", attempt=1)


def test_what_a_runner_notes_is_a_warning_and_its_reports_reach_the_reporter(tmp_path: Path) -> None:
    told: list[str] = []
    with fake_env(tmp_path, task_spec(), runner=locator(NotingWorld)) as env:
        env.set_reporter(lambda event, **facts: told.append(event))
        env.reset()
        _, _, _, info = env.step([], mark_done=True)
    assert "VNC port 5901 is taken; it is 4001 instead" in info["warnings"]
    assert "booting" in told


def refuse_writing(env: GymAnythingEnv, *names: str) -> None:
    """Make writing these artifacts an ``OSError``, as a full disk would."""
    assert env.episode_dir is not None
    for name in names:
        (env.episode_dir / name).mkdir()


@pytest.mark.parametrize("fast_io", [False, True])
def test_a_verdict_stands_when_the_disk_takes_no_record_of_it(tmp_path: Path, fast_io: bool) -> None:
    with fake_env(tmp_path, task_spec(), fast_io=fast_io) as env:
        env.reset()
        refuse_writing(env, "summary.json", "post_verification.png")
        _, _, done, info = env.step([], mark_done=True)
        assert done and info["outcome"]["status"] == env.evaluate()["outcome"]["status"]
        warnings = " ".join(info["warnings"])
        assert "end of the episode could not be written" in warnings and "no final screenshot" in warnings


def test_a_picture_that_the_disk_does_not_take_is_missing_with_its_reason(tmp_path: Path) -> None:
    with fake_env(tmp_path, task_spec()) as env:
        env.reset()
        refuse_writing(env, "frame_00001.png")
        observation, _, done, info = env.step(CLICK, wait_between_actions=0)
        assert "screen" not in observation and not done
        assert "directory" in info["observation_errors"]["screen"]


def test_without_a_disk_the_caller_still_leaves_by_his_own_error_and_the_world_stops(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="the caller's own"), fake_env(tmp_path, task_spec()) as env:
        env.reset()
        refuse_writing(env, "summary.json")
        raise KeyError("the caller's own")
    with pytest.raises(StateError):
        env.runner.capture_frame()
