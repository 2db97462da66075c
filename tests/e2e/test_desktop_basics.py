"""Our own benchmark on real desktops, by the command line: each task proves itself, all of them make the right table.

Every oracle and near miss is made of contract actions only, so this also says that real applications take our input.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.benchmark.layout import find_benchmark
from gym_anything.benchmark.splits import load_splits
from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine, verdicts
from tests.e2e.local_world import require_local_world
from tests.e2e.proofs import check_points, check_proof, prove_tasks

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2] / "benchmarks" / "desktop_basics"
ENV = "debian_desktop"
FOLDER = ROOT / "environments" / ENV / "tasks"
WHOLE = sorted(path.parent.name for path in FOLDER.glob("*/task.json"))
TASKS = sorted(load_splits(find_benchmark(ROOT)).select(ENV, "demo").tasks)
"""Six of them, for a run that does not take long; the others are proved in the long runs."""
OTHERS = [task for task in WHOLE if task not in TASKS]
PLAY = ("benchmark", "all", "--benchmark", str(ROOT), "--agent", "oracle", "--fast-io", "--seed", "0")
ALL = (*PLAY, "--parallel", "2", "--split", "demo")


@pytest.fixture
def cli(tmp_path: Path, require_backend: RequireBackend) -> CommandLine:
    require_local_world(require_backend)
    return CommandLine(tmp_path)


def test_the_first_six_applications_have_a_task() -> None:
    """Editor with Unicode, terminal, drag and drop, spreadsheet, dialog with menus, web form."""
    first = {"write_note", "count_errors", "file_invoice", "sum_column", "replace_word", "register_visitor"}
    assert first == set(TASKS)


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory, require_backend: RequireBackend) -> dict[str, Any]:
    require_local_world(require_backend)
    return prove_tasks(tmp_path_factory.mktemp("proofs"), ROOT, [(ENV, task) for task in TASKS])


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_passes_and_nothing_else_does(task: str, proofs: dict[str, Any]) -> None:
    """V3: doing nothing does not pass, nor do near misses."""
    check_proof(proofs[task])
    check_points(proofs[task], FOLDER / task)


@pytest.mark.soak
def test_the_whole_benchmark_makes_the_right_table_and_is_not_played_twice(cli: CommandLine) -> None:
    """V6: finished results are kept; a run that goes on plays only what is missing."""
    report = cli.json(*ALL, "--expect", "passed")
    assert verdicts(report) == dict.fromkeys(TASKS, ("passed", 100.0))
    totals = report["totals"]
    assert (totals["runs"], totals["passed"], totals["failed"], totals["broken"]) == (len(TASKS), len(TASKS), 0, 0)
    assert (totals["pass_rate"], totals["mean_score"], totals["already"]) == (1.0, 100.0, 0)
    for row in report["episodes"]:
        run = Path(row["run_dir"])
        assert run.is_relative_to(cli.folder / "all_runs" / "desktop_basics" / "oracle")
        names = {path.name for path in (run / row["episode_dir"]).iterdir()}
        assert {"traj.jsonl", "summary.json", "frame_00000.png", "final.png", "recording.mp4"} <= names
    written = {path: path.stat().st_mtime_ns for path in (cli.folder / "all_runs").rglob("info.json")}
    assert len(written) == len(TASKS)
    again = cli.json(*ALL, "--skip-existing")
    assert again["totals"]["already"] == len(TASKS) == again["totals"]["passed"]
    assert verdicts(again) == verdicts(report)
    assert {path: path.stat().st_mtime_ns for path in (cli.folder / "all_runs").rglob("info.json")} == written
    table = cli(*ALL, "--skip-existing")
    assert all(task in table for task in TASKS) and f"{len(TASKS)} passed, 0 failed, 0 broken" in table


@pytest.mark.soak
def test_episodes_that_start_from_a_checkpoint_agree_with_fresh_ones(cli: CommandLine) -> None:
    cached = ("--use-cache", "--cache-level", "post_start")
    restored = []
    for exp, tasks in (("making", TASKS[:1]), ("restored", TASKS)):
        chosen = [word for task in tasks for word in ("--task", task)]
        report = cli.json(*ALL, *cached, "--exp", exp, *chosen)
        assert verdicts(report) == dict.fromkeys(tasks, ("passed", 100.0)), exp
        summaries = [Path(row["run_dir"]) / row["episode_dir"] / "summary.json" for row in report["episodes"]]
        restored.append([json.loads(path.read_text(encoding="utf-8"))["restored_from"] for path in summaries])
        checkpoints = [path for path in (cli.folder / "checkpoints").iterdir() if path.name != "locks"]
        assert len(checkpoints) == 1, "one for all tasks of the environment"
    assert restored == [[None], ["post_start"] * len(TASKS)]


@pytest.fixture(scope="module")
def other_proofs(tmp_path_factory: pytest.TempPathFactory, require_backend: RequireBackend) -> dict[str, Any]:
    require_local_world(require_backend)
    return prove_tasks(tmp_path_factory.mktemp("proofs"), ROOT, [(ENV, task) for task in OTHERS])


@pytest.mark.soak
@pytest.mark.timeout(1200)  # the first of them waits for all proofs
@pytest.mark.parametrize("task", OTHERS)
def test_every_other_task_proves_itself(task: str, other_proofs: dict[str, Any]) -> None:
    """V3: doing nothing does not pass, nor do near misses."""
    check_proof(other_proofs[task])
    check_points(other_proofs[task], FOLDER / task)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_all_of_it_passes_four_at_a_time(cli: CommandLine) -> None:
    report = cli.json(*PLAY, "--parallel", "4", "--expect", "passed", code=None, timeout_s=550)
    assert verdicts(report) == dict.fromkeys(WHOLE, ("passed", 100.0))
