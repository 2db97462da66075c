"""Our own benchmark, unchanged, in Apptainer instances: every task's solution passes, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command_line import CommandLine, verdicts
from tests.e2e.test_desktop_basics import PLAY, TASKS, WHOLE

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

CHOSEN = [
    pytest.param(["write_note"], marks=pytest.mark.slow, id="editor"),
    pytest.param(TASKS, marks=pytest.mark.soak, id="all"),
    pytest.param(WHOLE, marks=[pytest.mark.soak, pytest.mark.timeout(900)], id="whole"),
]


@pytest.mark.parametrize("tasks", CHOSEN)
def test_the_tasks_pass_in_instances(tasks: list[str], apptainer_desktop: None, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli.environ["GYM_ANYTHING_RUNNER"] = "apptainer"
    chosen = [word for task in tasks for word in ("--task", task)]
    report = cli.json(*PLAY, "--parallel", "2", "--expect", "passed", *chosen, timeout_s=850)
    assert verdicts(report) == dict.fromkeys(tasks, ("passed", 100.0))
    for row in report["episodes"]:
        session = json.loads((Path(row["run_dir"]) / row["episode_dir"] / "traj.jsonl").read_text().splitlines()[1])
        assert session["runner_name"] == "apptainer", session
