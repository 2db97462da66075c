"""The table of worlds: what is not there is said, never left out."""

from __future__ import annotations

from typing import Any

import pytest
from tools.reference_worlds import RUNNERS, table
from tools.worlds_table import problems, tasks

pytestmark = pytest.mark.unit


def world(**changed: str) -> dict[str, Any]:
    """Return a world in which every task was passed, save those named."""
    rows = {task: {"status": "passed", "score": 100.0, "seconds": 2.04, "story": ""} for task in tasks()}
    for task, status in changed.items():
        rows[task] |= {"status": status, "story": "why"}
    return {"version": "image 12ab", "seconds": 30.0, "tasks": rows}


def test_a_table_where_everything_passed_is_whole() -> None:
    found = {runner: world() for runner in RUNNERS}
    assert problems(found, tasks()) == []
    lines = table(found, tasks())
    assert len(lines) == 2 + len(tasks()) + 2 and all(line.count("|") == len(RUNNERS) + 2 for line in lines)
    assert "| write_note | passed, 2.0 s | passed, 2.0 s | passed, 2.0 s | passed, 2.0 s |" in lines


def test_a_world_that_is_missing_is_a_problem_and_so_is_a_task() -> None:
    found = {runner: world() for runner in RUNNERS}
    del found["docker"]
    found["local"] = {"missing": "no kernel for it"}
    found["apptainer"] = world(write_note="failed")
    del found["qemu_native"]["tasks"]["sum_column"]
    assert problems(found, tasks()) == [
        "docker: not in the table",
        "local: MISSING: no kernel for it",
        "apptainer: write_note was not passed: failed why",
        "qemu_native: sum_column was not played",
    ]
    lines = "\n".join(table(found, tasks()))
    assert lines.count("**missing**") == 2 * len(tasks()) + 1 and "**failed**" in lines
