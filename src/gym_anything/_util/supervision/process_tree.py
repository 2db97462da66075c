"""Who descends from whom, read from ``/proc`` with nothing but ``os``; and signals that cannot hit a stranger."""

from __future__ import annotations

import os
import signal
from collections import namedtuple

Stat = namedtuple("Stat", "state parent group session start_ticks")

_CHILDREN_FILE = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")  # noqa: PTH110 - pathlib is slow to import


def read(path: str) -> bytes:
    """Return a small file's content; empty when it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def stat_of(pid: int) -> Stat | None:
    """Return what the kernel says of a process, or ``None`` when there is no such process."""
    raw = read(f"/proc/{pid}/stat")
    end = raw.rfind(b")")
    if end < 0:
        return None
    fields = raw[end + 2 :].split()
    return Stat(fields[0].decode("ascii"), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def children(pid: int) -> list[int]:
    """Return the direct children of all threads of a process, zombies too."""
    if not _CHILDREN_FILE:
        return [child for child in _all_pids() if (stat := stat_of(child)) and stat.parent == pid]
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - pathlib is slow to import
    except OSError:
        return []
    return [int(child) for thread in threads for child in read(f"/proc/{pid}/task/{thread}/children").split()]


def with_descendants(roots: list[int]) -> list[int]:
    """Return these processes and all that descend from them, parents first, each once."""
    found = dict.fromkeys(roots)
    level = roots
    while level:
        level = [child for parent in level for child in children(parent) if child not in found]
        found.update(dict.fromkeys(level))
    return list(found)


def variable_of(pid: int, name: bytes) -> bytes | None:
    """Return one variable of the environment a process was started with."""
    prefix = name + b"="
    for item in read(f"/proc/{pid}/environ").split(b"\0"):
        if item.startswith(prefix):
            return item[len(prefix) :]
    return None


def send_to(pid: int, start_ticks: int, signal_number: int) -> None:
    """Signal exactly the process that had this number at that time; a process that has ended is fine."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        stat = stat_of(pid)
        if stat is not None and stat.start_ticks == start_ticks:
            signal.pidfd_send_signal(fd, signal_number)
    except (ProcessLookupError, PermissionError):
        pass  # it ended meanwhile, or it gave itself to another user: then the kernel will not let us
    finally:
        os.close(fd)


def send_to_group(group: int, signal_number: int) -> bool:
    """Signal a process group whose leader we have not reaped, so that its number cannot be another's.

    Tell whether it reached anybody.
    """
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - as above
