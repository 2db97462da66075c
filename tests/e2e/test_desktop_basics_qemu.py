"""Our own benchmark, unchanged, in virtual machines forked from one: every task's solution passes, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine, verdicts
from tests.e2e.test_desktop_basics import ROOT, TASKS
from tests.qemu_machines import require_qemu

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

SERIAL = (
    "benchmark",
    "all",
    "--benchmark",
    str(ROOT),
    "--agent",
    "oracle",
    "--fast-io",
    "--parallel",
    "1",
    "--seed",
    "0",
)
"""One at a time: each emulated machine has as many processors as the host."""
BACKENDS = ("qmp", "guest")
CHOSEN = [
    pytest.param(["file_invoice"], "qmp", marks=pytest.mark.slow, id="drag"),
    *(pytest.param(TASKS, backend, marks=pytest.mark.soak, id=f"all-{backend}") for backend in BACKENDS),
]


@pytest.mark.parametrize(("tasks", "backend"), CHOSEN)
def test_the_tasks_pass_in_forked_machines(
    tasks: list[str], backend: str, require_backend: RequireBackend, tmp_path: Path
) -> None:
    require_qemu(require_backend)
    cli = CommandLine(tmp_path)
    cli.environ |= {"GYM_ANYTHING_RUNNER": "qemu_native", "GYM_ANYTHING_QEMU_FAST_IO_BACKEND": backend}
    chosen = [word for task in tasks for word in ("--task", task)]
    report = cli.json(*SERIAL, "--expect", "passed", *chosen, code=None, timeout_s=800)
    assert verdicts(report) == dict.fromkeys(tasks, ("passed", 100.0)), report["episodes"]
    for row in report["episodes"]:
        session = json.loads((Path(row["run_dir"]) / row["episode_dir"] / "traj.jsonl").read_text().splitlines()[1])
        assert session["runner_name"] == "qemu_native", session
