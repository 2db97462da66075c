"""Instances of dead runs. Apptainer clears the environment of the process that keeps one: our label lies deeper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Label
from gym_anything._util.orphan_processes import LabelledProcess, kill_all
from gym_anything._util.orphans import IsOrphan, Orphan

_CONFIG = "ENGINE_CONFIG1"
_LABEL = re.compile(rf'"{labels.ENV_NAME}":"([^"]+)"')
_KILL_S = 5.0


def orphaned_instances(is_orphan: IsOrphan, dry_run: bool) -> list[Orphan]:
    """Find and kill the instances of dead runs. A collector for ``cache gc``."""
    found = [process for process in _instances() if is_orphan(process.label)]
    survivors = set() if dry_run else kill_all(found, Deadline.after(_KILL_S))
    return [
        Orphan(
            "container",
            f"apptainer instance, pid {process.pid}",
            process.label.run,
            process.label.world,
            removed=not dry_run and process.pid not in survivors,
            error="it does not end even by SIGKILL" if process.pid in survivors else "",
        )
        for process in found
    ]


def kill_instances(is_meant: Callable[[Label], bool]) -> None:
    """Kill the instances with such a label."""
    kill_all([process for process in _instances() if is_meant(process.label)], Deadline.after(_KILL_S))


def _instances() -> Iterator[LabelledProcess]:
    for pid in proc.pids():
        label = label_in(proc.environ(pid).get(_CONFIG, ""))
        ticks, uid = proc.start_ticks(pid), proc.owner_uid(pid)
        if label is not None and ticks is not None and uid is not None:
            yield LabelledProcess(pid, ticks, uid, " ".join(proc.command_line(pid))[:120], label)


def label_in(config: str) -> Label | None:
    """Return the label that an instance's configuration holds; None for another's instance."""
    found = _LABEL.search(config)
    return None if found is None else Label.parse(found.group(1))
