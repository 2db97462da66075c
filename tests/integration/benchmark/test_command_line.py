"""``gym-anything run`` and ``benchmark`` as a person uses them: the real program, the fake world."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from tests.integration.benchmark.marked_processes import processes_with
from tests.unit.benchmark.small_benchmark import write_env, write_split, write_task
from tests.unit.docs.doc_snippets import python_snippets

pytestmark = pytest.mark.real

ODD = "tests.integration.benchmark.odd_agents:"
REPOSITORY = Path(__file__).parents[3]


class CommandLine:
    """Runs the program in a folder that has a benchmark ``small``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_env(folder / "small", "notes", ("a", "b", "c"))
        self.environ = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TEST_MARK": str(folder)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "gym_anything.cli.main", *arguments]
        return subprocess.Popen(
            argv, cwd=self.folder, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __call__(self, *arguments: str, code: int | None = 0) -> tuple[str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=100)
        assert code is None or process.returncode == code, (process.returncode, out, err)
        assert "Traceback" not in err
        return out, err

    def json(self, *arguments: str, code: int | None = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code)[0])

    def left_over(self) -> list[int]:
        return processes_with("TEST_MARK", str(self.folder))


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_run_prints_the_verdict_and_where_the_artifacts_lie(cli: CommandLine) -> None:
    out, _ = cli("run", "small/environments/notes", "--task", "a", "--agent", "oracle", "--fast-io")
    assert out.startswith("PASSED  score 100  notes/a")
    artifacts = Path(next(line for line in out.splitlines() if "artifacts:" in line).split("artifacts: ")[1])
    assert (artifacts / "summary.json").is_file()
    out, _ = cli("run", "notes", "--benchmark", "small", "--task", "a", "--fast-io", code=1)
    assert out.startswith("FAILED")
    cli("run", "notes", "--benchmark", "small", "--task", "a", "--fast-io", "--expect", "failed")
    out, _ = cli("run", "notes", "--benchmark", "small", "--task", "a", "--fast-io", "--agent", f"{ODD}Crashes", code=1)
    assert out.startswith("BROKEN (policy)")
    assert "worker.log" in out


def test_run_in_json_is_the_whole_record(cli: CommandLine) -> None:
    found = cli.json(
        "run", "notes", "--benchmark", "small", "--task", "b", "--agent", "oracle", "--seed", "7", "--fast-io"
    )
    assert (found["env"], found["task"], found["status"]) == ("notes", "b", "passed")
    assert found["outcome"]["score"] == 100
    assert found["request"]["seed"] == 7
    assert Path(found["run_dir"]) == cli.folder / "all_runs/single/oracle/notes/b/run_001"


def test_an_agent_in_the_working_folder_is_found_by_its_locator(cli: CommandLine) -> None:
    source = (REPOSITORY / "tests/integration/benchmark/odd_agents.py").read_text("utf-8")
    (cli.folder / "my_agent.py").write_text(source, "utf-8")
    cli("run", "notes", "--benchmark", "small", "--task", "a", "--agent", "my_agent:Typist", "--fast-io")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "notes", "--benchmark", "small"], "a, b, c"),
        (["run", "notes", "--benchmark", "small", "--task", "aa"], "aa"),
        (["run", "nosuch", "--benchmark", "small"], "notes"),
        (["run", "notes", "--benchmark", "nosuch", "--task", "a"], "nosuch"),
        (["run", "notes", "--benchmark", "small", "--task", "a", "--agent", "orcale"], "oracle"),
        (["run", "notes", "--benchmark", "small", "--task", "a", "--agent", "nosuch.module:Agent"], "nosuch"),
        (["run", "notes", "--benchmark", "small", "--task", "a", "--agent-arg", "x"], "K=V"),
        (["run", "notes", "--benchmark", "small", "--task", "a", "--steps", "0"], "--steps"),
        (["run", "notes", "--benchmark", "small", "--task", "a", "--remote-url", "http://x"], "remote"),
        (["benchmark", "all", "--benchmark", "small", "--split", "nosuch", "--task", "a"], "a"),
        (["benchmark", "notes", "--benchmark", "small", "--split", "nosuch"], "train"),
        (["benchmark", "notes", "--benchmark", "small", "--jobs", "0"], "--jobs"),
        (["nosuch"], "No such command"),
    ],
)
def test_a_wrong_use_is_one_line_that_helps_and_exit_code_2(cli: CommandLine, arguments: list[str], says: str) -> None:
    out, err = cli(*arguments, code=2)
    assert says in err
    assert out == ""
    assert not (cli.folder / "all_runs").exists()


def test_a_benchmark_prints_its_table_and_keeps_its_results(cli: CommandLine) -> None:
    """V1, V2: broken is counted apart."""
    notes = cli.folder / "small" / "environments" / "notes"
    write_task(notes, "judge", verifier="def verify(*a):\n    raise RuntimeError('boom')\n")
    write_split(cli.folder / "small", "notes", train_tasks=["a", "b", "judge"], test_tasks=["c", "gone"])
    arguments = ("benchmark", "all", "--benchmark", "small", "--agent", "oracle", "--fast-io")
    out, _ = cli(*arguments, "--jobs", "2", code=1)
    for word in ("passed", "broken (judge)", "boom", "3 passed, 0 failed, 1 broken (judge 1)", "gone"):
        assert word in out, out
    found = cli.json(*arguments, "--skip-existing", code=1)
    assert (found["totals"]["already"], found["totals"]["runs"]) == (3, 4)
    assert [e["task"] for e in found["episodes"]] == ["a", "b", "c", "judge"]
    assert found["remarks"]


def test_a_dry_run_names_the_episodes_and_plays_none(cli: CommandLine) -> None:
    out, _ = cli("benchmark", "notes", "--benchmark", "small", "--dry-run", "--min-runs", "2", "--max-tasks", "2")
    assert out.split() == ["notes/a", "notes/b", "notes/a", "#2", "notes/b", "#2"]
    assert not (cli.folder / "all_runs").exists()
    by_folder, _ = cli("benchmark", "small/environments/notes", "--dry-run", "--min-runs", "2", "--max-tasks", "2")
    assert by_folder == out


def test_expect_decides_the_exit_code(cli: CommandLine) -> None:
    arguments = ["benchmark", "notes", "--benchmark", "small", "--fast-io", "--max-tasks", "1"]
    cli(*arguments, "--agent", "noop", "--expect", "failed")
    cli(*arguments, "--agent", "noop", "--expect", "passed", code=1)
    cli(*arguments, "--agent", "noop")  # a failed task is a result, not a failure of the command


def waiting_benchmark(cli: CommandLine) -> subprocess.Popen[str]:
    """Start a benchmark whose first two episodes wait for a file."""
    process = cli.start(
        "benchmark", "notes", "--benchmark", "small", "--agent", f"{ODD}WaitsForAFile", "--agent-arg",
        f"folder={cli.folder}", "--fast-io", "--jobs", "2",
    )  # fmt: skip
    begun = [cli.folder / "a.begun", cli.folder / "b.begun"]
    wait_until(lambda: all(f.exists() for f in begun), deadline=Deadline.after(60), awaited="two episodes to begin")
    return process


def test_ctrl_c_once_lets_running_episodes_finish(cli: CommandLine) -> None:
    process = waiting_benchmark(cli)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "waiting for those that run" in process.stderr.readline() + process.stderr.readline()
    (cli.folder / "go").touch()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "2 passed, 0 failed, 0 broken" in out
    assert "1 not played" in out
    assert cli.left_over() == []


def test_ctrl_c_twice_stops_now_and_a_resumed_run_plays_only_the_rest(cli: CommandLine) -> None:
    """L2: a second Ctrl-C leaves nothing. V6: resume repeats only what was unfinished."""
    process = waiting_benchmark(cli)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    process.stderr.readline()
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "0 passed, 0 failed, 0 broken" in out
    assert cli.left_over() == []
    assert list(cli.folder.glob("all_runs/**/info.json")) == []


def test_a_killed_benchmark_leaves_nothing_and_is_resumed(cli: CommandLine) -> None:
    """V6: resume after kill -9 repeats only what was unfinished. L3: nothing is left."""
    process = waiting_benchmark(cli)
    process.kill()
    process.communicate()
    wait_until(lambda: not cli.left_over(), deadline=Deadline.after(30), awaited="the episodes to end with their owner")
    (cli.folder / "go").touch()
    found = cli.json(
        "benchmark", "notes", "--benchmark", "small", "--agent", f"{ODD}WaitsForAFile", "--agent-arg",
        f"folder={cli.folder}", "--fast-io", "--skip-existing",
    )  # fmt: skip
    assert found["totals"]["passed"] == 3
    runs = sorted(
        str(p.relative_to(cli.folder / "all_runs/small")) for p in cli.folder.glob("all_runs/small/*/*/*/run_*")
    )
    assert [run.split("/", 2)[2] for run in runs] == ["a/run_001", "a/run_002", "b/run_001", "b/run_002", "c/run_001"]


def test_two_runs_of_one_task_at_once_are_two_results(cli: CommandLine) -> None:
    """V6, V7: and what a run that was killed had claimed is free again."""
    arguments = (
        "run", "notes", "--benchmark", "small", "--task", "a", "--seed", "3", "--agent", f"{ODD}WaitsForAFile",
        "--agent-arg", f"folder={cli.folder}", "--fast-io", "--exp", "both",
    )  # fmt: skip
    task_dir = cli.folder / "all_runs" / "both"

    def begun() -> int:
        return len(list(task_dir.glob("*/notes/a/run_*/episode_*")))

    killed = cli.start(*arguments)
    wait_until(lambda: begun() == 1, deadline=Deadline.after(60), awaited="the first run to begin")
    killed.kill()
    killed.communicate()
    runs = [cli.start(*arguments) for _ in range(2)]
    wait_until(lambda: begun() == 3, deadline=Deadline.after(60), awaited="both runs to begin")
    (cli.folder / "go").touch()
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    for run in runs:
        run.communicate()
    report = cli.json("report", "both")
    attempts = {
        json.loads(info.read_bytes())["request"]["attempt"] for info in task_dir.glob("*/notes/a/run_*/info.json")
    }
    assert attempts == {0, 1}
    assert (report["tries"], report["unfinished"], report["models"][0]["total"]["passed"]) == (0, 1, 2), report


def test_a_broken_configuration_is_refused_before_any_world_starts(cli: CommandLine) -> None:
    """Also where it shows only when the agent is made."""
    arguments = ["benchmark", "notes", "--benchmark", "small", "--fast-io", "--agent", f"{ODD}CannotBeMade"]
    out, err = cli(*arguments, code=2)
    assert out == ""
    assert "CannotBeMade" in err and "KeyError: 'colour'" in err
    assert not (cli.folder / "all_runs").exists()
    cli(*arguments, "--agent-arg", "colour=blue", "--max-tasks", "1")


def test_a_broken_setup_is_begun_again_and_told(cli: CommandLine) -> None:
    notes = cli.folder / "small" / "environments" / "notes"
    hook = "echo tried >> /home/ga/tries; exit 3"
    write_task(notes, "flaky", hooks={"pre_task": hook})
    arguments = ("benchmark", "notes", "--benchmark", "small", "--agent", "oracle", "--fast-io", "--task", "flaky")
    _, err = cli(*arguments, "--retries", "2", code=1)
    assert err.count("begun again") == 2
    assert len(list(cli.folder.glob("all_runs/small/oracle/notes/flaky/run_*/info.json"))) == 3
    found = cli.json(*arguments, "--retries", "0", code=1)
    assert (found["totals"]["broken"], found["totals"]["replaced"]) == (1, 3), "one of now, three of before"


def test_the_index_is_made_by_the_run_and_anew_when_asked(cli: CommandLine) -> None:
    cli("benchmark", "notes", "--benchmark", "small", "--agent", "oracle", "--fast-io", "--exp", "first")
    index = cli.folder / "all_runs" / "first" / "index.sqlite"
    with closing(sqlite3.connect(index)) as db:
        assert db.execute("SELECT task, status FROM runs").fetchall() == [(task, "passed") for task in "abc"]
    index.unlink()
    found = cli.json("index", "first")
    assert (found["path"], found["finished"], found["unfinished"]) == (str(index), 3, [])
    assert index.is_file()
    assert "first" in cli("index", "second", code=1)[1]


def test_lists_name_what_is_broken(cli: CommandLine) -> None:
    notes = cli.folder / "small" / "environments" / "notes"
    (write_task(notes, "cut_off") / "task.json").write_text('{"id": ')
    broken = write_env(cli.folder / "small", "broken", ("x",))
    (broken / "env.json").write_text("{")
    envs = {row["env"]: row for row in cli.json("list", "envs", "--benchmark", "small")["envs"]}
    assert "error" in envs["broken"]
    assert (envs["notes"]["tasks"], "error" in envs["notes"]) == (4, False)
    tasks = {row["task"]: row for row in cli.json("list", "tasks", "--benchmark", "small", "--env", "notes")["tasks"]}
    assert "error" in tasks["cut_off"]
    assert tasks["a"]["prompt"] == "Type hello"
    splits = cli.json("list", "splits", "--benchmark", "small", "--env", "notes")["splits"]
    assert {row["split"]: row["tasks"] for row in splits} == {"all": 4, "train": 4, "test": 0, "disk": 4}
    out, _ = cli("list", "tasks", "--benchmark", "small")
    assert "cut_off" in out
    (row,) = cli.json("list", "--benchmark", "small")["benchmarks"]
    assert (row["benchmark"], row["environments"]) == ("small", 2)


def test_agents_are_listed_with_what_they_do(cli: CommandLine) -> None:
    agents = {row["name"]: row for row in cli.json("agents")["agents"]}
    assert {"noop", "random", "oracle"} <= set(agents)
    assert all(row["about"] and not row["problem"] for row in agents.values())
    assert "oracle" in cli("agents")[0]


def test_the_page_on_running_reads_results_as_written(cli: CommandLine) -> None:
    (snippet,) = python_snippets("docs/how-to/running.md")
    cli("benchmark", "notes", "--benchmark", "small", "--fast-io", "--exp", "first", "--max-tasks", "2")
    done = subprocess.run(
        [sys.executable, "-c", snippet.text], cwd=cli.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "first 2 results, 0 cut off or running\n"


def test_what_cannot_be_judged_is_said_before_it_is_played(cli: CommandLine) -> None:
    (write_task(cli.folder / "small" / "environments" / "notes", "d") / "verifier.py").unlink()
    out, err = cli("benchmark", "notes", "--benchmark", "small", "--agent", "oracle", "--exp", "e", code=1)
    said = err.index("remark: notes/d cannot be judged")
    assert all(said < err.index(line) for line in err.splitlines() if "passed" in line) and "passed" in err
    assert "remark: notes/d cannot be judged" in out
    asked = ("benchmark", "notes", "--benchmark", "small", "--agent", "oracle", "--exp", "f", "--task", "d")
    _, err = cli(*asked, code=None)
    assert "verifier.py" in err and not (cli.folder / "all_runs" / "f").exists()
