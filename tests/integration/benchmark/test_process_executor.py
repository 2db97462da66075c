"""Episodes in processes of their own: real processes, the fake world, real verifiers."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.execute import execute
from gym_anything.benchmark.process_executor import ProcessExecutor
from gym_anything.benchmark.results import FinishedRun, ResultsFolder
from gym_anything.benchmark.stop_signal import StopSignal
from tests.integration.benchmark.marked_processes import processes_with
from tests.unit.benchmark.small_benchmark import write_env, write_task

pytestmark = pytest.mark.real

ODD = "tests.integration.benchmark.odd_agents:"
LOST_WHEN_ENDED = "tests.integration.benchmark.lost_when_ended:Waits"
MISBEHAVING = "gym_anything.testing.fakes.misbehaving:"


@pytest.fixture
def env_dir(tmp_path: Path) -> Path:
    return write_env(tmp_path / "small", "notes", ("a", "b"))


@pytest.fixture
def results(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder(tmp_path / "all_runs", "exp")


def _open_fds() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def request(env_dir: Path, agent: str, task: str = "a", **more: Any) -> EpisodeRequest:
    fields = {"model": "m", "fast_io": True, "seed": 1, "time_limit_s": 60.0, **more}
    return EpisodeRequest(env_dir=str(env_dir), env=env_dir.name, task=task, agent=agent, **fields)


def play(results: ResultsFolder, *requests: EpisodeRequest, **more: Any) -> list[FinishedRun]:
    return execute(requests, ProcessExecutor(), results, **more)


def play_one(results: ResultsFolder, asked: EpisodeRequest) -> EpisodeRecord:
    (run,) = play(results, asked)
    return run.record


def test_an_episode_ends_with_verdict_artifacts_and_record(env_dir: Path, results: ResultsFolder) -> None:
    (run,) = play(results, request(env_dir, f"{ODD}Typist", agent_args={"api_key": "sk-very-secret"}))
    record = run.record
    assert record.outcome.status == "passed"
    assert (record.reason, record.steps, record.reward) == ("Agent Completed", 1, 1.0)
    assert record.verifier is not None
    assert record.verifier["feedback"] == "typed 'hello'"
    assert record.runner == "gym_anything.testing.fakes.world:FakeWorld"
    assert record.task_digest is not None
    assert not record.agent_saw_task_root
    assert {"load_s", "reset_s", "agent_s", "world_s", "judge_s"} <= set(record.timings)
    episode = run.run_dir / str(record.episode_dir)
    assert (episode / "summary.json").is_file()
    assert (episode / "notes.txt").read_text() == "Agent Completed"
    assert "type it" in (episode / "traj.jsonl").read_text()
    info = json.loads((run.run_dir / "info.json").read_text())
    assert info["outcome"]["status"] == "passed"
    for file in run.run_dir.rglob("*"):
        assert not file.is_file() or b"sk-very-secret" not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("agent", "args", "status"),
    [
        ("oracle", {}, "passed"),
        ("oracle", {"solution": "near_miss_1.json"}, "failed"),
        ("noop", {}, "failed"),
        ("random", {"steps": 2}, "failed"),
    ],
)
def test_the_bundled_agents_play(
    env_dir: Path, results: ResultsFolder, agent: str, args: dict[str, Any], status: str
) -> None:
    record = play_one(results, request(env_dir, agent, agent_args=args))
    assert record.outcome.status == status, record.outcome.story
    assert record.agent_saw_task_root == (agent == "oracle")


@pytest.mark.parametrize(
    ("agent", "status", "blame", "story", "reason"),
    [
        ("Crashes", "broken", "policy", "ZeroDivisionError: the agent's own bug", "error"),
        ("AnswersNonsense", "broken", "policy", "must return a list of turns", "error"),
        ("ExitsPython", "broken", "policy", "SystemExit", "error"),
        ("EndsItsProcess", "broken", "policy", "exit code 3", "error"),
        ("IsKilled", "broken", "policy", "out of memory", "error"),
        ("DoesNothing", "failed", None, "typed ''", "max_steps"),
        ("CorrectsItself", "passed", None, "typed 'hello'", "Agent Completed"),
        ("SaysTooMuchAtOnce", "passed", None, "typed 'hello'", "Agent Completed"),
        ("CrashesInFinish", "passed", None, "typed 'hello'", "Agent Completed"),
        ("ReturnsWhatJsonCannotSay", "passed", None, "typed 'hello'", "Agent Completed"),
        ("OwnsTheLoop", "passed", None, "typed 'hello'", "Agent Completed"),
    ],
)
def test_whatever_an_agent_does_has_a_result_with_its_cause(
    env_dir: Path, results: ResultsFolder, agent: str, status: str, blame: str | None, story: str, reason: str
) -> None:
    """V2, L10: broken is not failed, and says whose fault it was."""
    record = play_one(results, request(env_dir, ODD + agent))
    assert (record.outcome.status, record.outcome.blame) == (status, blame), record.outcome
    assert story in record.outcome.story
    assert record.reason == reason
    if agent == "CrashesInFinish":
        assert any("finish()" in warning for warning in record.warnings)
    if agent == "OwnsTheLoop":
        assert record.agent_result == {"task": "Type hello", "done_after_typing": False, "step": 1}
    if agent == "Crashes":
        run_dir = results.task_dir(request(env_dir, "x")) / "run_001"
        assert "Traceback" in (run_dir / "worker.log").read_text()


@pytest.mark.parametrize(
    ("agent", "status"),
    [("HangsAfterTyping", "passed"), ("OwnsTheLoopAndHangs", "passed"), ("HangsInInit", "failed")],
)
def test_a_hung_agent_is_left_behind_at_the_limit_and_the_state_is_judged(
    env_dir: Path, results: ResultsFolder, agent: str, status: str
) -> None:
    """V5: a hung agent is stopped at its deadline; V4: the verdict is the world's state."""
    record = play_one(results, request(env_dir, ODD + agent, time_limit_s=0.5))
    assert (record.outcome.status, record.reason) == (status, "timeout")
    assert any("did not return" in warning for warning in record.warnings)


def test_a_step_deadline_holds_for_an_agent_that_owns_the_loop(env_dir: Path, results: ResultsFolder) -> None:
    """V5: a hung agent or step is stopped from outside at its deadline. L9: a hung world is the world's fault."""
    hung_world = request(
        env_dir, f"{ODD}OwnsTheLoop", runner=f"{MISBEHAVING}HungWorld", step_deadline_s=1.0, time_limit_s=60.0
    )
    hung_agent = request(env_dir, f"{ODD}OwnsTheLoopAndHangs", "b", step_deadline_s=2.0)
    worlds, agents = (run.record for run in play(results, hung_world, hung_agent, jobs=2))
    assert (worlds.outcome.status, worlds.outcome.blame, worlds.reason) == ("broken", "world", "deadline")
    assert worlds.broke_in == "world"
    assert (agents.outcome.status, agents.reason) == ("passed", "timeout")
    assert any("time for one answer" in warning for warning in agents.warnings)


def test_a_world_that_hangs_past_the_limit_is_the_worlds_fault_under_any_agent(
    env_dir: Path, results: ResultsFolder
) -> None:
    asked = request(
        env_dir, f"{ODD}OwnsTheLoop", runner=f"{MISBEHAVING}HungWorld", step_deadline_s=1.0, time_limit_s=0.5
    )
    record = play_one(results, asked)
    assert (record.outcome.status, record.outcome.blame, record.broke_in) == ("broken", "world", "world")


def test_an_agent_that_owns_the_loop_may_not_ask_the_judge_unless_the_result_says_so(
    env_dir: Path, results: ResultsFolder
) -> None:
    """V4: an agent has no say over its own judge."""
    refused = play_one(results, request(env_dir, f"{ODD}AsksTheJudge"))
    assert (refused.outcome.status, refused.outcome.blame) == ("broken", "policy")
    assert "evaluate shows the judge's side" in refused.outcome.story
    assert not refused.agent_saw_task_root
    declared = play_one(results, request(env_dir, f"{ODD}MayAskTheJudge"))
    assert (declared.outcome.status, declared.agent_result) == ("passed", "typed 'hello'")
    assert declared.agent_saw_task_root


def test_a_process_that_stands_still_is_ended_from_outside_and_the_run_goes_on(
    env_dir: Path, results: ResultsFolder
) -> None:
    """V5: stopped from outside at its deadline; the run goes on."""
    stuck = request(env_dir, f"{ODD}HangsWithTheGil", deadline_s=3.0)
    runs = play(results, stuck, request(env_dir, f"{ODD}Typist", "b"))
    assert [run.record.outcome.status for run in runs] == ["broken", "passed"]
    record = runs[0].record
    assert (record.outcome.blame, record.reason) == ("policy", "deadline")
    assert "deadline of 3 s" in record.outcome.story
    assert record.outcome.detail["code"] == "deadline-exceeded"


def test_nothing_that_an_agent_started_outlives_its_episode(
    env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    record = play_one(results, request(env_dir, f"{ODD}LeavesThingsBehind", agent_args={"pid_file": str(pid_file)}))
    assert record.outcome.status == "passed"
    assert not Path(f"/proc/{pid_file.read_text()}").exists()


@pytest.mark.parametrize(
    ("world", "status", "blame"),
    [("CrashingWorld", "broken", "world"), ("NeverReadyWorld", "broken", "world"), ("HungWorld", "failed", None)],
)
def test_a_bad_world_is_not_blamed_on_the_agent(
    env_dir: Path, results: ResultsFolder, world: str, status: str, blame: str | None
) -> None:
    """L9: a dead world is not blamed on the agent."""
    asked = request(env_dir, "random", runner=MISBEHAVING + world, agent_args={"steps": 6}, time_limit_s=2.0)
    record = play_one(results, asked)
    assert (record.outcome.status, record.outcome.blame) == (status, blame), record.outcome


def test_broken_content_is_blamed_on_the_content(env_dir: Path, results: ResultsFolder) -> None:
    cut_off = write_task(env_dir, "cut_off")
    (cut_off / "task.json").write_text('{"id": ')
    write_task(env_dir, "bad_judge", verifier="def verify(*a):\n    raise RuntimeError('boom')\n")
    write_task(env_dir, "no_oracle")
    (env_dir / "tasks" / "no_oracle" / "oracle.json").unlink()
    tasks = ("cut_off", "bad_judge", "no_oracle", "nosuch", "a")
    runs = play(results, *(request(env_dir, "oracle", task) for task in tasks), jobs=2)
    found = {run.record.request["task"]: run.record.outcome for run in runs}
    assert [found[task].status for task in tasks] == ["broken"] * 4 + ["passed"]
    assert [found[task].blame for task in tasks[:3]] == ["content", "judge", "content"]
    assert "boom" in found["bad_judge"].story
    assert "oracle.json" in found["no_oracle"].story


def test_a_failed_set_up_ends_the_episode_before_the_agent_is_asked(env_dir: Path, results: ResultsFolder) -> None:
    """V1: a failed set-up is never scored as a failed task, and costs no model."""
    write_task(env_dir, "no_setup", hooks={"pre_task": "echo no network; exit 3"})
    record = play_one(results, request(env_dir, f"{ODD}Crashes", "no_setup"))
    assert (record.outcome.status, record.outcome.blame, record.reason) == ("broken", "content", "setup_failed")
    assert "no network" in record.outcome.story
    assert record.is_broken_setup
    assert (record.steps, "agent_s" in record.timings, record.episode_dir is not None) == (0, False, True)


def test_a_wish_to_finish_ends_the_episode_and_judges_it(env_dir: Path, results: ResultsFolder) -> None:
    stop, asked = StopSignal(), request(env_dir, f"{ODD}HangsAfterTyping")

    def on_news(news: Any) -> None:
        if news.kind == "step":
            threading.Thread(target=stop.raise_level).start()

    (run,) = execute([asked], ProcessExecutor(finish_early=True), results, stop=stop, on_news=on_news)
    assert (run.record.outcome.status, run.record.reason, run.record.interrupted) == ("passed", "stopped", True)
    assert results.counting(asked, run.record.task_digest) == []


def test_stopping_now_cuts_off_and_leaves_no_result_and_no_process(
    env_dir: Path, results: ResultsFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L2: an interrupt leaves nothing."""
    monkeypatch.setenv("TEST_MARK", str(tmp_path))
    stop, asked = StopSignal(), request(env_dir, f"{ODD}WaitsForAFile", agent_args={"folder": str(tmp_path)})

    def stop_twice() -> None:
        wait_until((tmp_path / "a.begun").exists, deadline=Deadline.after(30), awaited="the episode to begin")
        assert processes_with("TEST_MARK", str(tmp_path))
        stop.raise_level()
        stop.raise_level()

    stopper = threading.Thread(target=stop_twice)
    stopper.start()
    assert execute([asked], ProcessExecutor(), results, stop=stop) == []
    stopper.join()
    assert results.finished(asked) == []
    assert processes_with("TEST_MARK", str(tmp_path)) == []


def test_a_world_that_ends_because_of_the_stop_is_no_result(
    env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    """What is ended from outside reports a lost world on its way out; nobody's world was at fault."""
    stop, asked = StopSignal(), request(env_dir, LOST_WHEN_ENDED, agent_args={"folder": str(tmp_path)})

    def stop_twice() -> None:
        wait_until((tmp_path / "a.begun").exists, deadline=Deadline.after(30), awaited="the episode to begin")
        stop.raise_level()
        stop.raise_level()

    stopper = threading.Thread(target=stop_twice)
    stopper.start()
    assert execute([asked], ProcessExecutor(), results, stop=stop) == []
    stopper.join()


def test_a_timing_line_is_written_for_every_step(env_dir: Path, results: ResultsFolder, tmp_path: Path) -> None:
    lines = tmp_path / "timing.jsonl"
    asked = request(env_dir, f"{ODD}CorrectsItself", timing_jsonl=str(lines))
    play(results, asked, replace(asked, task="b"), jobs=2)
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert sorted((row["task"], row["step"], row["refused"]) for row in rows) == [
        ("a", 1, True),
        ("a", 2, False),
        ("b", 1, True),
        ("b", 2, False),
    ]
    assert all(row["agent_ms"] > 0 and row["env_step_ms"] > 0 for row in rows)


def test_an_agent_that_owns_the_loop_has_timing_lines_and_phases_too(
    env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    lines = tmp_path / "timing.jsonl"
    slow = f"{MISBEHAVING}SlowWorld"
    record = play_one(results, request(env_dir, f"{ODD}OwnsTheLoopAndErrs", runner=slow, timing_jsonl=str(lines)))
    assert (record.outcome.status, record.steps) == ("passed", 2)
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(row["step"], row["actions"], row["refused"]) for row in rows] == [(1, 1, True), (2, 1, False)]
    assert rows[1]["env_step_ms"] >= 200 > rows[1]["agent_ms"] > 0
    assert record.timings["world_s"] >= 0.2


def test_many_episodes_leave_no_descriptor_and_no_thread(env_dir: Path, results: ResultsFolder) -> None:
    """V8: long runs keep what they hold flat."""
    play(results, request(env_dir, "noop"))  # the supervisor and its link stay
    fds, threads = _open_fds(), threading.active_count()
    play(results, *[request(env_dir, "noop")] * 8, jobs=2)
    assert _open_fds() == fds
    assert threading.active_count() == threads
