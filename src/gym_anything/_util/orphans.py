"""Orphans: what is left of a run whose owner was killed. Found by manifests and labels, and only ours.

A run is *dead* when nobody holds its lock and its owner (process id, start time, boot, process namespace) is certainly
gone. What cannot be judged from here (another process namespace, an unreadable environment) is left alone.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from gym_anything._util import control_groups, kernel_mounts, labels
from gym_anything._util.ascii_names import is_short_name
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Label, Owner
from gym_anything._util.locks import FileLock
from gym_anything._util.orphan_processes import LabelledProcess, kill_all, labelled_processes
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.state_dir import LOCK, MANIFEST, run_prefix
from gym_anything.errors import DeadlineExceeded, GymAnythingError

Kind = Literal["process", "mount", "link", "folder", "container", "other"]

NEWBORN_S = 60.0
"""A run folder without a manifest is this old before it counts as left by a kill during its making."""
_KILL_S = 5.0


@dataclass(frozen=True, slots=True)
class Orphan:
    """One left-over thing.

    Attributes:
        what: how a person would name it (a path; "pid 123: Xvnc :1 …").
        run, world: whose it was; ``-`` for what belongs to a run as a whole.
        removed: whether it is gone now; always false in a dry run.
        error: why it could not be removed.
    """

    kind: Kind
    what: str
    run: str
    world: str
    removed: bool = False
    error: str = ""


IsOrphan = Callable[[Label], bool]
Collector = Callable[[IsOrphan, bool], list[Orphan]]
"""What a runner gives for things of its own (containers, cloud objects): gets the judge of labels and ``dry_run``."""


def find_orphans(root: Path, *, collectors: Sequence[Collector] = ()) -> list[Orphan]:
    """Return what ``collect`` would remove, and touch nothing."""
    return collect(root, dry_run=True, collectors=collectors)


def collect(
    root: Path, dry_run: bool = False, *, collectors: Sequence[Collector] = (), only_run: str | None = None
) -> list[Orphan]:
    """Remove what dead runs have left: processes first, then mounts, links and folders.

    Safe while other runs live and while another collection is under way. Never raises for a thing that cannot be
    removed: its ``error`` says why.

    Args:
        root: the state folder.
        only_run: look at this run alone.
    """
    found: list[Orphan] = []
    with ExitStack() as locks:
        dead = {run.id: run for run in _dead_runs(root, locks, only_run)}
        found += _processes(root, dead, dry_run, only_run)
        for run in dead.values():
            found += run.collect(dry_run)
        if only_run is None:
            for collector in collectors:
                found += collector(_is_orphan, dry_run)
    return found


def _is_orphan(label: Label) -> bool:
    return label.owner.is_dead()


class _DeadRun:
    """A run whose owner is gone; its lock is held by the collection."""

    def __init__(self, path: Path) -> None:
        self.id = path.name
        self.path = path

    def collect(self, dry_run: bool) -> list[Orphan]:
        found = [self._done(orphan, act, dry_run) for orphan, act in self._things()]
        folder = Orphan("folder", str(self.path), self.id, labels.NO_WORLD)
        if dry_run:
            return [*found, folder]
        return [*found, self._done(folder, self._remove, dry_run)]

    def _remove(self) -> None:
        """Remove the folder; last what tells others that its owner is dead and that somebody is at it."""
        for entry in list(self.path.iterdir()):
            if entry.name not in (LOCK, MANIFEST):
                remove_tree(entry)
        remove_tree(self.path)

    def _things(self) -> Iterator[tuple[Orphan, Callable[[], None]]]:
        for mount in kernel_mounts.mounts_below(self.path):
            orphan = Orphan("mount", str(mount), self.id, _world_of(self.path, mount))
            yield orphan, partial(kernel_mounts.detach, mount)
        for world in sorted(path for path in self.path.iterdir() if path.is_dir() and not path.is_symlink()):
            manifest = _read_json(world / MANIFEST)
            for group in control_groups.recorded(manifest):
                yield Orphan("other", str(group), self.id, world.name), partial(control_groups.remove, group)
            link = Path(str(manifest.get("short_link") or "/nonexistent"))
            if link.is_symlink() and link.readlink() == world:
                yield Orphan("link", str(link), self.id, world.name), partial(link.unlink, missing_ok=True)

    def _done(self, orphan: Orphan, act: Callable[[], None], dry_run: bool) -> Orphan:
        if dry_run:
            return orphan
        try:
            act()
        except (OSError, GymAnythingError) as error:
            return replace(orphan, error=str(error))
        return replace(orphan, removed=True)


def _dead_runs(root: Path, locks: ExitStack, only_run: str | None) -> Iterator[_DeadRun]:
    try:
        names = sorted(entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return
    for name in names:
        if not (is_short_name(name) and name.startswith("r")) or only_run not in (None, name):
            continue
        path = root / name
        if not _owner_is_dead(path):
            continue
        lock = _lock(path)
        if lock is None:
            continue
        locks.callback(lock.release)
        owner = _owner_of(path)  # again, now that nobody can be at it
        if owner is None or owner.is_dead():
            yield _DeadRun(path)


def _owner_is_dead(path: Path) -> bool:
    owner = _owner_of(path)
    if owner is not None:
        return owner.is_dead()
    try:
        return time.time() - path.stat().st_mtime > NEWBORN_S
    except FileNotFoundError:
        return False


def _owner_of(path: Path) -> Owner | None:
    return Owner.parse(str(_read_json(path / MANIFEST).get("owner") or ""))


def _lock(path: Path) -> FileLock | None:
    """Take a dead run's lock. Who still holds it is about to end: the run's warden, or another collection."""
    try:
        return FileLock.acquire(path / LOCK, deadline=Deadline.after(_KILL_S))
    except (OSError, DeadlineExceeded):  # removed meanwhile, not ours to open, or left to its holder
        return None


def _processes(root: Path, dead: dict[str, _DeadRun], dry_run: bool, only_run: str | None) -> list[Orphan]:
    """Processes of dead runs of this state folder, and our own user's of such runs whose folder is gone."""
    prefix = run_prefix(root)
    found: list[LabelledProcess] = []
    for process in labelled_processes():
        label = process.label
        if only_run not in (None, label.run) or not label.owner.is_dead():
            continue
        lost = label.run.startswith(prefix) and not (root / label.run).exists() and process.uid == os.geteuid()
        if label.run in dead or lost:
            found.append(process)
    survivors = set() if dry_run else kill_all(found, Deadline.after(_KILL_S))
    return [
        Orphan(
            "process",
            f"pid {process.pid}: {process.command}",
            process.label.run,
            process.label.world,
            removed=not dry_run and process.pid not in survivors,
            error="it does not end even by SIGKILL" if process.pid in survivors else "",
        )
        for process in found
    ]


def _world_of(run: Path, path: Path) -> str:
    parts = path.relative_to(run).parts
    return parts[0] if parts and is_short_name(parts[0]) else labels.NO_WORLD


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
