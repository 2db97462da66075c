"""Kernel limits that a host full of worlds meets first: read, explained, raised, and put back.

Raising never lowers a value. What a limit was before is on disk before it is changed, so that ``undo`` works after a
kill, too; it puts back only what still has the value that we gave it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything.errors import HostError

SYSCTL_ROOT = Path("/proc/sys")
_RECORD = "host-limits.json"
_LOCK_S = 10.0

Record = dict[str, tuple[int, int]]
"""Name to (what it was before we first raised it, what we gave it)."""


@dataclass(frozen=True, slots=True)
class HostLimit:
    """A limit by its sysctl name: with less than ``enough`` it is met by hundreds of worlds."""

    name: str
    enough: int
    why: str

    def path(self, root: Path) -> Path:
        """Return its file below a folder such as ``/proc/sys``."""
        return root.joinpath(*self.name.split("."))


LIMITS = (
    HostLimit("fs.aio-max-nr", 1_048_576, "each QEMU disk takes a share"),
    HostLimit("fs.inotify.max_user_instances", 8192, "every desktop program watches folders"),
    HostLimit("fs.inotify.max_user_watches", 1_048_576, "every desktop program watches folders"),
    HostLimit("fs.file-max", 2_097_152, "open files of all worlds together"),
    HostLimit("fs.nr_open", 1_048_576, "open files of one process"),
    HostLimit("kernel.pid_max", 262_144, "processes and threads of all worlds together"),
    HostLimit("kernel.threads-max", 262_144, "threads of all worlds together"),
    HostLimit("vm.max_map_count", 262_144, "browsers and emulators map much"),
    HostLimit("user.max_user_namespaces", 16_384, "one and more for each sandboxed world"),
    HostLimit("net.core.somaxconn", 4096, "connections that wait to be accepted"),
    HostLimit("net.netfilter.nf_conntrack_max", 262_144, "connections of all worlds together"),
)


@dataclass(frozen=True, slots=True)
class LimitState:
    """A limit and what it is at present; None: this kernel has no such limit."""

    limit: HostLimit
    value: int | None

    @property
    def enough(self) -> bool:
        """True when it need not be raised."""
        return self.value is None or self.value >= self.limit.enough


@dataclass(frozen=True, slots=True)
class LimitChange:
    """A limit that was, or would be, changed; ``problem`` says why it was not."""

    name: str
    before: int
    after: int
    problem: str = ""


def read_limits(root: Path | None = None) -> list[LimitState]:
    """Return each limit with its present value. ``root``: the folder of sysctl files, that of this host when None."""
    return [LimitState(limit, _value(limit.path(root or SYSCTL_ROOT))) for limit in LIMITS]


def raise_limits(state: Path, *, dry_run: bool = False, root: Path | None = None) -> list[LimitChange]:
    """Raise what is too low, until the next boot of the host; return what was (or would be) changed.

    Args:
        state: the state folder, which keeps what the limits were.
    Raises: DeadlineExceeded while another process changes them; HostError when the record cannot be read.
    """
    with _locked(state):
        record = _read_record(state)
        changes = [
            LimitChange(one.limit.name, one.value, one.limit.enough)
            for one in read_limits(root)
            if one.value is not None and not one.enough
        ]
        return changes if dry_run else [_raise(change, state, record, root or SYSCTL_ROOT) for change in changes]


def undo_limits(state: Path, *, dry_run: bool = False, root: Path | None = None) -> list[LimitChange]:
    """Put back what ``raise_limits`` changed; what has another value by now is left, and said.

    Raises: as ``raise_limits``.
    """
    with _locked(state):
        record = _read_record(state)
        return [_put_back(name, state, record, root or SYSCTL_ROOT, dry_run) for name in list(record)]


def restore_limits(state: Path, *, root: Path | None = None) -> list[LimitChange]:
    """Raise again what ``raise_limits`` had raised and a boot has taken back; return what was changed.

    Raises: as ``raise_limits``.
    """
    with _locked(state):
        record = _read_record(state)
        changes = [
            LimitChange(one.limit.name, one.value, record[one.limit.name][1])
            for one in read_limits(root)
            if one.value is not None and one.limit.name in record and one.value < record[one.limit.name][1]
        ]
        return [_set(change, root or SYSCTL_ROOT) for change in changes]


def _raise(change: LimitChange, state: Path, record: Record, root: Path) -> LimitChange:
    before = record.get(change.name)
    _note(state, record, change.name, (before[0] if before else change.before, change.after))
    done = _set(change, root)
    if done.problem:
        _note(state, record, change.name, before)
    return done


def _put_back(name: str, state: Path, record: Record, root: Path, dry_run: bool) -> LimitChange:
    before, ours = record[name]
    change = LimitChange(name, ours, before)
    present = _value(HostLimit(name, 0, "").path(root))
    if present != ours:
        change = replace(change, problem=f"left as it is: {present}, which is not what was set here")
    if dry_run:
        return change
    done = change if change.problem else _set(change, root)
    if not done.problem or present != ours:
        _note(state, record, name, None)
    return done


def _value(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _set(change: LimitChange, root: Path) -> LimitChange:
    try:
        HostLimit(change.name, 0, "").path(root).write_text(f"{change.after}\n", encoding="ascii")
    except OSError as error:
        return replace(change, problem=f"not changed: {error.strerror}")
    return change


def _locked(state: Path) -> FileLock:
    return FileLock.acquire(state / "host-limits.lock", deadline=Deadline.after(_LOCK_S))


def _read_record(state: Path) -> Record:
    path = state / _RECORD
    if not path.exists():
        return {}
    try:
        return {str(name): (int(before), int(ours)) for name, (before, ours) in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise HostError(
            f"{path} does not say what the limits were: {error}. Set them by hand (`sysctl`), then remove the file.",
            detail={"path": str(path)},
        ) from error


def _note(state: Path, record: Record, name: str, values: tuple[int, int] | None) -> None:
    """Keep, or forget, what a limit was and what we gave it, on disk before anything else happens."""
    if values is None:
        record.pop(name, None)
    else:
        record[name] = values
    if record:
        atomic_write.write_json(state / _RECORD, record, durable=True)
    else:
        (state / _RECORD).unlink(missing_ok=True)
