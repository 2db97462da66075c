"""Leak checks: what a test, an episode or a world has left behind.

::

    with LeakCheck():
        world.start()
        world.stop()

raises ``LeakFound`` when afterwards there is a process, file descriptor, thread, listening port, shared memory segment,
mount or temporary file that was not there before. What ends by itself gets a grace period. Only what can be laid at
this process's door counts: its descendants, processes that carry its label, its own descriptors, and files in the
temporary folder that is its own for the duration.

The pytest plugin ``gym_anything.testing.pytest_leaks`` has the fixture ``no_leaks``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded

GRACE_S = 3.0

Probe = Callable[[], set[str]]


class LeakFound(AssertionError):
    """Something was left behind; ``left`` maps a kind (``processes``, ``fds`` …) to descriptions."""

    def __init__(self, left: Mapping[str, set[str]]) -> None:
        self.left = {kind: sorted(names) for kind, names in left.items()}
        lines = [f"  {kind}: {name}" for kind, names in sorted(self.left.items()) for name in names]
        super().__init__("left behind:\n" + "\n".join(lines))


class LeakCheck:
    """Compares before and after. Use it as a context manager, or ``begin`` and ``end``."""

    def __init__(
        self, *, grace_s: float | None = None, extra: Mapping[str, Probe] | None = None, own_temp: bool = True
    ) -> None:
        """Choose what to look at.

        Args:
            grace_s: how long things may take to end by themselves; ``GRACE_S`` when None.
            extra: further probes by kind, each returning the names of what exists now: containers, cloud objects.
            own_temp: give the process a temporary folder of its own meanwhile, which must be empty in the end.
        """
        self._grace_s = GRACE_S if grace_s is None else grace_s
        self._probes: dict[str, Probe] = {**PROBES, **(extra or {})}
        self._own_temp = own_temp
        self._temp: _OwnTemp | None = None
        self._before: dict[str, set[str]] = {}

    def begin(self) -> None:
        """Look at what is there now."""
        self._temp = _OwnTemp() if self._own_temp else None
        self._before = {kind: probe() for kind, probe in self._probes.items()}

    def left(self) -> dict[str, set[str]]:
        """Return what is there now and was not before, by kind; empty when nothing is."""
        found = {kind: probe() - self._before[kind] for kind, probe in self._probes.items()}
        if self._temp is not None:
            found["temporary files"] = self._temp.content()
        return {kind: names for kind, names in found.items() if names}

    def end(self) -> None:
        """Wait for things to end; raise ``LeakFound`` for what has not ended after the grace period."""
        try:
            wait_until(lambda: not self.left(), deadline=Deadline.after(self._grace_s), awaited="everything to end")
        except DeadlineExceeded:
            left = self.left()
            if left:
                raise LeakFound(left) from None
        finally:
            self.forget()

    def forget(self) -> None:
        """Give the temporary folder back without a look; harmless when repeated."""
        if self._temp is not None:
            self._temp.close()
            self._temp = None

    def __enter__(self) -> LeakCheck:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:
            self.end()
        else:
            self.forget()


class _OwnTemp:
    """A temporary folder for this process alone, as ``TMPDIR`` and as ``tempfile``'s own idea of it."""

    def __init__(self) -> None:
        self._old_variable = os.environ.get("TMPDIR")
        self._old_folder = tempfile.tempdir
        self.folder = Path(tempfile.mkdtemp(prefix="ga-"))
        os.environ["TMPDIR"] = str(self.folder)
        tempfile.tempdir = str(self.folder)

    def content(self) -> set[str]:
        """Return the paths of everything in it."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def close(self) -> None:
        """Restore what was, and remove the folder."""
        tempfile.tempdir = self._old_folder
        if self._old_variable is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = self._old_variable
        shutil.rmtree(self.folder, ignore_errors=True)


# --- what is looked at -------------------------------------------------------------------------------------------


def processes() -> set[str]:
    """Return our descendants and whatever carries our label, save what belongs to the run as a whole."""
    own = os.getpid()
    found = set(proc.descendants(own))
    names = set()
    for pid in found | set(proc.pids()):
        label = labels.label_of_process(pid)
        ours = pid in found or (label is not None and label.owner.pid == own)
        if not ours or pid == own or (label is not None and label.world == labels.NO_WORLD):
            continue
        stat = proc.read_stat(pid)
        if stat is not None:
            zombie = " (zombie)" if stat.state == "Z" else ""
            names.add(f"{pid}@{stat.start_ticks}{zombie} {' '.join(proc.command_line(pid))[:200] or stat.command}")
    return names


def file_descriptors() -> set[str]:
    """Return this process's descriptors with what they point to; the number alone would hide a swap."""
    return {f"{fd} -> {target}" for fd, target in proc.open_fds().items() if not _is_passing(target)}


def threads() -> set[str]:
    """Return this process's threads, also those Python does not know."""
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    tasks = (int(entry.name) for entry in os.scandir("/proc/self/task"))
    return {f"{task} {known.get(task) or _task_name(task)}" for task in tasks}


def listening_ports() -> set[str]:
    """Return the TCP ports that this process and its descendants listen on."""
    inodes = {
        target[8:-1]
        for pid in [os.getpid(), *proc.descendants(os.getpid())]
        for target in _fds_of(pid)
        if target.startswith("socket:[")
    }
    found = set()
    for table in ("tcp", "tcp6"):
        path = Path("/proc/self/net") / table
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(f"{table}:{int(fields[1].rsplit(':', 1)[1], 16)}")
    return found


def shared_memory() -> set[str]:
    """Return the files in ``/dev/shm`` that are ours and that no foreign process has open or mapped."""
    folder = Path("/dev/shm")
    mine = {p for p in folder.iterdir() if _owned(p)} if folder.is_dir() else set()
    return {path.name for path in mine if not _used_by_others(path)}


def mounts() -> set[str]:
    """Return the mount points of our mount namespace."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line.split()[4] for line in lines}


PROBES: dict[str, Probe] = {
    "processes": processes,
    "fds": file_descriptors,
    "threads": threads,
    "ports": listening_ports,
    "shared memory": shared_memory,
}
"""The default probes. ``mounts`` is not among them: on a shared machine others mount and unmount, too."""


def _is_passing(target: str) -> bool:
    """Tell whether a descriptor is this module's own look at ``/proc``."""
    return target.startswith(f"/proc/{os.getpid()}/")


def _task_name(task: int) -> str:
    try:
        return Path(f"/proc/self/task/{task}/comm").read_text().strip()
    except OSError:
        return "(ended)"


def _fds_of(pid: int) -> list[str]:
    try:
        return list(proc.open_fds(pid).values())
    except OSError:
        return []


def _owned(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _used_by_others(path: Path) -> bool:
    """Tell whether a process that is not ours uses the file: then it is theirs, though the user is the same."""
    ours = {os.getpid(), *proc.descendants(os.getpid())}
    for pid in set(proc.pids()) - ours:
        try:
            if str(path) in Path(f"/proc/{pid}/maps").read_text(errors="replace"):
                return True
            if str(path) in proc.open_fds(pid).values():
                return True
        except OSError:
            continue
    return False
