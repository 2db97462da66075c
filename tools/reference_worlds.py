"""The page of worlds: the same tasks, unchanged, in every one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.reference_figures import conditions_line, record

RUNNERS = ("local", "docker", "apptainer", "qemu_native")
"""The worlds of the table, in the order of its columns."""

_INTRODUCTION = """\
# The same tasks in every world

`desktop_basics`, unchanged, played by the oracle: one column for each runner, in each cell the verdict and how long the whole episode
took, start of the world included. The machines of `qemu_native` are forks of one that was booted before, played one at a time; of the
others two run at once. `make worlds` plays all of it and fails when a world is missing or a task is not passed.
"""


def worlds_page() -> str:
    """Render the table from its record."""
    found = record("worlds_table")
    if found is None:
        return f"{_INTRODUCTION}\nNot recorded yet: `python -m tests.bench.figures --write worlds_table`.\n"
    wanted = sorted({task for world in found["worlds"].values() for task in world["tasks"]})
    lines = [_INTRODUCTION, *table(found["worlds"], wanted), "", conditions_line(found)]
    return "\n".join(lines) + "\n"


def table(found: Mapping[str, Any], wanted: list[str]) -> list[str]:
    """Return the lines of the table in Markdown: a row for each task, a column for each world."""
    heads = [f"`{runner}`" for runner in RUNNERS]
    lines = [f"| task | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for task in wanted:
        lines.append(f"| {task} | {' | '.join(_cell(found.get(runner, {}), task) for runner in RUNNERS)} |")
    seconds = (found.get(runner, {}).get("seconds") for runner in RUNNERS)
    lines.append(f"| all | {' | '.join('' if each is None else f'{each:.0f} s' for each in seconds)} |")
    versions = (found.get(runner, {}).get("version", "") for runner in RUNNERS)
    lines.append(f"| image | {' | '.join(versions)} |")
    return lines


def _cell(world: Mapping[str, Any], task: str) -> str:
    row = world.get("tasks", {}).get(task)
    if row is None:
        return "**missing**"
    words = "passed" if row["status"] == "passed" else f"**{row['status']}**"
    return f"{words}, {row['seconds']:.1f} s"
