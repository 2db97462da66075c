"""Resource limits of one world by the kernel's control groups, version 1 or 2, where this host lets us make some."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gym_anything._util import control_groups
from gym_anything._util.labels import Label
from gym_anything._util.orphans import IsOrphan, Orphan
from gym_anything.errors import DeadlineExceeded, WorldLost
from gym_anything.specs.env_spec import EnvSpec

MAX_PROCESSES = 4096
"""Processes and threads of one world: a browser with many tabs has some hundreds, a fork bomb has no end."""
_PERIOD_US = 100_000


@dataclass(frozen=True)
class Limits:
    """What one world may use at most; None means no limit."""

    cpu: float | None = None
    memory_bytes: int | None = None
    processes: int = MAX_PROCESSES

    @classmethod
    def of(cls, spec: EnvSpec) -> Limits:
        """Return what a spec asks for."""
        memory = spec.resources.mem_gb
        return cls(spec.resources.cpu, None if memory is None else int(memory * (1 << 30)))

    def wanted(self) -> dict[str, float | int]:
        """Return controller -> limit of those that are set."""
        found = {"cpu": self.cpu, "memory": self.memory_bytes, "pids": self.processes}
        return {name: value for name, value in found.items() if value is not None}


@dataclass
class ControlGroups:
    """The groups of one world: empty folders of the cgroup file system, which outlive a killed owner."""

    folders: list[Path] = field(default_factory=list)
    unenforced: dict[str, str] = field(default_factory=dict)
    """Controller -> why it has no limit."""

    @classmethod
    def create(cls, label: Label, limits: Limits, note: Callable[[list[str]], None]) -> ControlGroups:
        """Make groups with these limits; what the host refuses is noted, not raised.

        Args: note: writes down the folders before they are made.
        """
        groups = cls()
        name = control_groups.group_name(label)
        places = {}
        for controller in limits.wanted():
            parent = _place_of(controller)
            if parent is None:
                groups.unenforced[controller] = f"this host offers no control group for {controller}"
            else:
                places[controller] = parent / name
        note(sorted({str(folder) for folder in places.values()}))
        for controller, folder in places.items():
            try:
                groups._limit(folder, controller, limits.wanted()[controller])
            except OSError as error:
                groups.unenforced[controller] = f"no control group below {folder.parent}: {error.strerror}"
        return groups

    def _limit(self, folder: Path, controller: str, value: float | int) -> None:
        if folder not in self.folders:
            folder.mkdir()
            self.folders.append(folder)
        version_2 = (folder / "cgroup.controllers").exists()
        for name, text in _settings(controller, value, version_2=version_2):
            (folder / name).write_text(text)

    @property
    def procs_files(self) -> list[str]:
        """The files a process joins by writing ``0``."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def memory_kills(self) -> int:
        """Return how many programs of this world the kernel has killed because its memory was used up."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                for line in _lines(folder / name):
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def explained(self, error: WorldLost) -> WorldLost | None:
        """Return an error that has the reason, where that is that no memory was left; None where it is not known."""
        kills = self.memory_kills()
        if not kills:
            return None
        return WorldLost(
            f"the memory of the world was used up (resources.mem_gb); the kernel killed {kills} of its programs: "
            f"{error}",
            detail={**error.detail, "memory_kills": kills},
        )

    def shortfalls(self, spec: EnvSpec) -> list[str]:
        """Return a sentence for each limit of the spec that this host does not enforce."""
        asked = {"cpu": ("resources.cpu", spec.resources.cpu), "memory": ("resources.mem_gb", spec.resources.mem_gb)}
        rows = [(*asked.get(controller, ("", None)), reason) for controller, reason in self.unenforced.items()]
        return [f"{name} is not enforced: {reason}" for name, value, reason in rows if value is not None]

    def remove(self) -> None:
        """Remove the groups, which must be empty of processes by now; a short delay of the kernel is waited for."""
        while self.folders:
            control_groups.remove(self.folders.pop())


def hindrance(controller: str) -> str:
    """Say why this host gives no group with this controller (``cpu``, ``memory``, ``pids``); empty when it does."""
    parent = _place_of(controller)
    if parent is None:
        return f"this host offers no control group for {controller}"
    return "" if os.access(parent, os.W_OK) else f"this user may make no control group below {parent}"


def orphaned_groups(is_orphan: IsOrphan, dry_run: bool) -> list[Orphan]:
    """Collect the groups of dead owners whose manifest is gone, too. A collector for ``cache gc``."""
    found = []
    for folder in _groups_anywhere():
        label = control_groups.label_of(folder.name)
        if label is not None and is_orphan(label):
            orphan = Orphan("other", str(folder), label.run, label.world)
            if not dry_run:
                try:
                    control_groups.remove(folder)
                    orphan = replace(orphan, removed=True)
                except DeadlineExceeded as error:
                    orphan = replace(orphan, error=str(error))
            found.append(orphan)
    return found


def _groups_anywhere() -> list[Path]:
    """Return every group of ours on this host: a killed owner made them below its own group, which is not ours."""
    found: set[Path] = set()
    for _, mount, _ in _mounts():
        for folder, names, _ in os.walk(mount):
            found.update(Path(folder, name) for name in names if control_groups.label_of(name) is not None)
    return sorted(found)


def _settings(controller: str, value: float | int, *, version_2: bool) -> list[tuple[str, str]]:
    if controller == "cpu":
        quota = int(value * _PERIOD_US)
        if version_2:
            return [("cpu.max", f"{quota} {_PERIOD_US}")]
        return [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota))]
    if controller == "memory":
        return [("memory.max" if version_2 else "memory.limit_in_bytes", str(int(value)))]
    return [("pids.max", str(int(value)))]


def _own_groups() -> dict[str, str]:
    """Return controller (``""`` for version 2) -> path of the group this process is in."""
    found = {}
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller.removeprefix("name=")] = path
    return found


def _mounts() -> list[tuple[str, Path, list[str]]]:
    """Return (type, mount point, options) of every cgroup file system in sight."""
    rows = [line.split() for line in _lines(Path("/proc/self/mounts"))]
    return [(row[2], Path(row[1]), row[3].split(",")) for row in rows if len(row) > 3 and row[2].startswith("cgroup")]


def _place_of(controller: str) -> Path | None:
    """Return the folder for a new group with this controller, version 1 or 2."""
    parent = _parent_of(controller)
    if parent is not None:
        return parent
    unified = _unified_parent()
    return unified if unified is not None and _offers(unified, controller) else None


def _parent_of(controller: str) -> Path | None:
    """Return the version 1 folder in which a group for this controller may be made."""
    mount = next((place for kind, place, options in _mounts() if kind == "cgroup" and controller in options), None)
    if mount is None:
        return None
    own = mount / _own_groups().get(controller, "/").lstrip("/")
    return own if own.is_dir() else mount


def _unified_parent() -> Path | None:
    """Return the version 2 folder in which groups may be made: our own, or the root where ours has processes."""
    mount = next((place for kind, place, _ in _mounts() if kind == "cgroup2"), None)
    if mount is None:
        return None
    own = mount / _own_groups().get("", "/").lstrip("/")
    for parent in (own, own.parent, mount):
        if parent.is_dir() and (parent == mount or mount in parent.parents) and _offers(parent, "memory"):
            return parent
    return mount


def _offers(parent: Path, controller: str) -> bool:
    """Tell whether groups below ``parent`` get this controller; switch it on where we may."""
    control = parent / "cgroup.subtree_control"
    if controller in " ".join(_lines(control)).split():
        return True
    if controller not in " ".join(_lines(parent / "cgroup.controllers")).split():
        return False
    try:
        control.write_text(f"+{controller}")
    except OSError:
        return False  # processes live in this group itself, or it is not ours
    return True


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
