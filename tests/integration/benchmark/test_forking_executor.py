"""Episodes forked from a nursery: as apart, as bounded and as clean as in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.execute import execute
from gym_anything.benchmark.forking_executor import ForkingExecutor
from gym_anything.benchmark.preflight import check_configuration
from gym_anything.benchmark.process_executor import ProcessExecutor
from gym_anything.benchmark.results import ResultsFolder
from gym_anything.benchmark.stop_signal import StopSignal
from gym_anything.errors import Aborted, GymAnythingError, SettingInvalid, SpecInvalid, UnknownPlugin, VlmNotConfigured
from gym_anything.verification.fork_server import ForkServer
from tests.unit.benchmark.small_benchmark import write_env, write_task

pytestmark = pytest.mark.real

ODD = "tests.integration.benchmark.odd_agents:"
HANGS = "import time\ndef verify(*a):\n    time.sleep(1000)\n"


@pytest.fixture
def env_dir(tmp_path: Path) -> Path:
    return write_env(tmp_path / "small", "notes", ("a", "b"))


@pytest.fixture
def results(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder(tmp_path / "all_runs", "exp")


@pytest.fixture(scope="module")
def executor() -> Iterator[ForkingExecutor]:
    with ForkingExecutor(["gym_anything.testing.fakes.world"]) as executor:
        yield executor


def request(env_dir: Path, agent: str, task: str = "a", **more: Any) -> EpisodeRequest:
    fields = {"model": "m", "fast_io": True, "seed": 1, "time_limit_s": 60.0, **more}
    return EpisodeRequest(env_dir=str(env_dir), env=env_dir.name, task=task, agent=agent, **fields)


def play(
    executor: ForkingExecutor, results: ResultsFolder, *requests: EpisodeRequest, **more: Any
) -> list[EpisodeRecord]:
    return [run.record for run in execute(requests, executor, results, **more)]


def await_no_fork(executor: ForkingExecutor) -> None:
    """Wait for the guards, which have nothing left to guard, to be gone as well."""
    pid = executor.nursery_pid
    assert pid is not None
    wait_until(lambda: proc.descendants(pid) == [], deadline=Deadline.after(5), awaited="the end of the last guard")


def test_the_record_is_whole(executor: ForkingExecutor, env_dir: Path, results: ResultsFolder) -> None:
    write_task(env_dir, "hard", tags=["typing"], difficulty="hard")
    (record,) = play(executor, results, request(env_dir, f"{ODD}Counts", "hard"))
    assert record.outcome.status == "passed", record.outcome
    assert (record.difficulty, record.tags) == ("hard", ("typing",))
    assert record.usage == {"calls": 2, "input_tokens": 30, "output_tokens": 4, "cost_usd": 0.25}
    assert record.world_s > 0
    assert record.memory["episode_mib"] > 10
    assert {"load_s", "reset_s", "agent_s", "world_s", "judge_s", "finish_s", "close_s"} <= set(record.timings)


@pytest.mark.parametrize(
    ("agent", "status", "blame", "story"),
    [
        ("Crashes", "broken", "policy", "ZeroDivisionError: the agent's own bug"),
        ("ExitsPython", "broken", "policy", "SystemExit"),
        ("EndsItsProcess", "broken", "policy", "exit code 3"),
        ("IsKilled", "broken", "policy", "out of memory"),
        ("CannotBeMade", "broken", "caller", "KeyError: 'colour'"),
        ("CorrectsItself", "passed", None, "typed 'hello'"),
        ("OwnsTheLoop", "passed", None, "typed 'hello'"),
    ],
)
def test_whatever_an_agent_does_stays_in_its_fork(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder, agent: str, status: str, blame: Any, story: str
) -> None:
    bad, good = play(executor, results, request(env_dir, ODD + agent), request(env_dir, f"{ODD}Typist", "b"))
    assert (bad.outcome.status, bad.outcome.blame) == (status, blame), bad.outcome
    assert story in bad.outcome.story
    assert good.outcome.status == "passed"


def test_a_fork_has_the_owners_folder_environment_and_import_path_and_its_own_chance(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(executor, results, request(env_dir, "noop"))  # the nursery is there already
    (tmp_path / "my_own_agent.py").write_text("from tests.integration.benchmark.odd_agents import LooksAround as Mine")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLOUR", "blue")
    monkeypatch.chdir(tmp_path)
    first, second = play(executor, results, *[request(env_dir, "my_own_agent:Mine")] * 2)
    assert first.agent_result["cwd"] == str(tmp_path)
    assert first.agent_result["colour"] == "blue"
    assert first.agent_result["chance"] != second.agent_result["chance"]
    assert first.agent_result["numpy"] != second.agent_result["numpy"]


def test_deadlines_are_kept_from_outside(executor: ForkingExecutor, env_dir: Path, results: ResultsFolder) -> None:
    """V5: a hung agent, step or verifier is stopped from outside at its deadline; the run goes on."""
    write_task(env_dir, "hung_judge", verifier=HANGS)
    stuck = request(env_dir, f"{ODD}HangsWithTheGil", deadline_s=2.0)
    slow_answer = request(env_dir, f"{ODD}HangsAfterTyping", step_deadline_s=0.5)
    hung_judge = request(env_dir, f"{ODD}Typist", "hung_judge", verifier_deadline_s=1.0)
    hung_world = request(
        env_dir, f"{ODD}Typist", runner="gym_anything.testing.fakes.misbehaving:HungWorld", step_deadline_s=1.0
    )
    found = play(executor, results, stuck, slow_answer, hung_judge, hung_world, request(env_dir, "oracle"), jobs=5)
    outcomes = [(record.outcome.status, record.outcome.blame, record.reason) for record in found]
    assert outcomes[0] == ("broken", "policy", "deadline")
    assert outcomes[1] == ("passed", None, "timeout")
    assert outcomes[2] == ("broken", "judge", "deadline")
    assert outcomes[3][:2] == ("broken", "world")
    assert outcomes[4][0] == "passed"
    assert "more than 1 s passed" in found[2].outcome.story


def test_an_episode_ended_from_outside_has_cost_something_too(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder
) -> None:
    write_task(env_dir, "hung_judge", verifier=HANGS, tags=["slow"])
    (record,) = play(executor, results, request(env_dir, f"{ODD}Counts", "hung_judge", verifier_deadline_s=0.5))
    assert (record.outcome.status, record.broke_in, record.tags) == ("broken", "judge", ("slow",))
    assert record.usage == {"calls": 2, "input_tokens": 30, "output_tokens": 4, "cost_usd": 0.25}
    assert record.runner == "gym_anything.testing.fakes.world:FakeWorld"
    assert record.timings["judge_s"] >= 0.5
    assert record.started_at < record.finished_at


def test_nothing_that_an_episode_started_outlives_it(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    asked = request(env_dir, f"{ODD}LeavesThingsBehind", agent_args={"pid_file": str(pid_file)})
    (record,) = play(executor, results, asked)
    assert record.outcome.status == "passed"
    assert not Path(f"/proc/{pid_file.read_text()}").exists()


def test_stopping_now_ends_the_fork_and_leaves_no_result(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    stop, asked = StopSignal(), request(env_dir, f"{ODD}WaitsForAFile", agent_args={"folder": str(tmp_path)})

    def stop_twice() -> None:
        wait_until((tmp_path / "a.begun").exists, deadline=Deadline.after(30), awaited="the episode to begin")
        stop.raise_level()
        stop.raise_level()

    stopper = threading.Thread(target=stop_twice)
    stopper.start()
    assert play(executor, results, asked, stop=stop) == []
    stopper.join()
    assert results.finished(asked) == []
    await_no_fork(executor)


def test_a_killed_nursery_breaks_its_episode_and_the_next_has_a_new_one(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    asked = request(env_dir, f"{ODD}WaitsForAFile", agent_args={"folder": str(tmp_path)})

    def kill() -> None:
        wait_until((tmp_path / "a.begun").exists, deadline=Deadline.after(30), awaited="the episode to begin")
        assert executor.nursery_pid is not None
        os.kill(executor.nursery_pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    broken, good = play(executor, results, asked, request(env_dir, "oracle"))
    killer.join()
    assert broken.outcome.status == "broken"
    assert good.outcome.status == "passed"


def test_a_killed_judge_server_is_replaced_inside_the_episode(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder, tmp_path: Path
) -> None:
    asked = request(env_dir, f"{ODD}WaitsForAFile", agent_args={"folder": str(tmp_path)})

    def kill() -> None:
        wait_until((tmp_path / "a.begun").exists, deadline=Deadline.after(30), awaited="the episode to begin")
        pid = ForkServer.shared().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not proc.start_ticks(pid), deadline=Deadline.after(5), awaited="the server's end")
        (tmp_path / "go").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    found = play(executor, results, asked, request(env_dir, "oracle", "b"))
    killer.join()
    assert [record.outcome.status for record in found] == ["passed", "passed"]


def test_many_forks_leave_no_descriptor_and_no_thread(
    executor: ForkingExecutor, env_dir: Path, results: ResultsFolder
) -> None:
    """V8: long runs keep what they hold flat."""
    play(executor, results, request(env_dir, "noop"))
    fds, threads = len(proc.open_fds()), threading.active_count()
    play(executor, results, *[request(env_dir, "noop")] * 8, jobs=2)
    assert (len(proc.open_fds()), threading.active_count()) == (fds, threads)
    await_no_fork(executor)


# --- before any world starts -------------------------------------------------------------------------------------


def check(*requests: EpisodeRequest, stop: StopSignal | None = None) -> Any:
    return check_configuration(requests, ProcessExecutor(), stop=stop)


def test_a_configuration_that_works_names_what_to_load(env_dir: Path) -> None:
    found = check(request(env_dir, "oracle"))
    assert found.remarks == ()
    assert found.modules == ("gym_anything.agents.builtin.oracle", "gym_anything.testing.fakes.world")
    assert check_configuration([], ProcessExecutor()).modules == ()


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"agent": f"{ODD}CannotBeMade"}, SettingInvalid, "CannotBeMade.*KeyError: 'colour'"),
        ({"runner": "nosuch"}, UnknownPlugin, "nosuch"),
        ({"agent": f"{ODD}EndsItsProcessInItsConstructor"}, GymAnythingError, "exit code 3"),
    ],
)
def test_what_breaks_every_episode_is_an_error_before_the_first(
    env_dir: Path, changes: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        check(replace(request(env_dir, "oracle"), **changes))


def test_what_breaks_some_episodes_stops_nothing(env_dir: Path, tmp_path: Path) -> None:
    broken = write_env(tmp_path / "small", "broken", ("x",))
    (broken / "env.json").write_text("{")
    (write_task(env_dir, "cut_off") / "task.json").write_text('{"id": ')
    some = [request(broken, "oracle", "x"), request(env_dir, "oracle", "cut_off"), request(env_dir, "oracle", "a")]
    (remark,) = check(*some).remarks
    assert remark.startswith("broken: ")
    with pytest.raises(SpecInvalid):
        check(some[0])


LOOKS = {"success": {"mode": "vlm_checklist", "spec": {}}}


def test_a_judge_that_cannot_judge_any_task_is_an_error_before_the_first(
    env_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_VERIFIER_MODE", "telepathy")
    with pytest.raises(SpecInvalid, match="telepathy"):
        check(request(env_dir, "oracle"), request(env_dir, "oracle", "b"))
    monkeypatch.delenv("GYM_ANYTHING_VERIFIER_MODE")
    monkeypatch.delenv("VLM_MODEL", raising=False)
    for task in ("looks", "looks_again"):
        root = write_task(env_dir, task, **LOOKS)
        (root / "vlm_checklist.json").write_text('{"task_completion": [{"id": "typed"}]}')
    with pytest.raises(VlmNotConfigured, match="VLM_MODEL"):
        check(request(env_dir, "oracle", "looks"), request(env_dir, "oracle", "looks_again"))
    (remark,) = check(*[request(env_dir, "oracle", task) for task in ("looks", "a", "looks_again")]).remarks
    assert remark.startswith("notes/looks, notes/looks_again cannot be judged: ") and "VLM_MODEL" in remark


def test_a_judge_that_cannot_judge_one_task_stops_nothing(env_dir: Path) -> None:
    (write_task(env_dir, "no_verifier") / "verifier.py").unlink()
    write_task(env_dir, "no_list", **LOOKS)
    found = check(*[request(env_dir, "oracle", task) for task in ("a", "no_verifier", "no_list")])
    assert found.modules == ("gym_anything.agents.builtin.oracle", "gym_anything.testing.fakes.world")
    first, second = found.remarks
    assert first.startswith("notes/no_verifier cannot be judged: ") and "verifier.py" in first
    assert second.startswith("notes/no_list cannot be judged: ") and "vlm_checklist.json" in second
    with pytest.raises(SpecInvalid, match=r"verifier\.py"):
        check(request(env_dir, "oracle", "no_verifier"))


def test_the_check_can_be_stopped(env_dir: Path) -> None:
    stop = StopSignal()
    stop.raise_level()
    with pytest.raises(Aborted):
        check(request(env_dir, f"{ODD}HangsInItsConstructor"), stop=stop)
