"""What ``/proc`` says about processes. Every reader takes a process that has just ended for an answer, not an error."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Stat:
    """The fields of ``/proc/<pid>/stat`` that we use.

    Attributes:
        command: the kernel's name of it, at most 15 bytes.
        state: ``R``, ``S``, ``D``, ``T``, ``Z`` …
        start_ticks: clock ticks from boot to its start; with the pid it names a process for good.
    """

    pid: int
    command: str
    state: str
    parent: int
    group: int
    session: int
    start_ticks: int


def read_stat(pid: int) -> Stat | None:
    """Return the process's ``stat``, or ``None`` when there is no such process."""
    raw = _read(pid, "stat")
    # The command stands in brackets and may itself hold brackets and blanks: the last bracket ends it.
    left, right = raw.find(b"("), raw.rfind(b")")
    if right < 0:
        return None
    fields = raw[right + 2 :].split()
    return Stat(
        pid=pid,
        command=raw[left + 1 : right].decode("utf-8", "replace"),
        state=fields[0].decode("ascii"),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
    )


def start_ticks(pid: int) -> int | None:
    """Return when a live process started (clock ticks since boot); ``None`` when it has ended, also as a zombie."""
    stat = read_stat(pid)
    return None if stat is None or stat.state in "ZX" else stat.start_ticks


def innermost_pid(pid: int) -> int | None:
    """Return a process's number in its own process namespace; ``None`` when it has ended."""
    for line in _read(pid, "status").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return None


def environ(pid: int) -> dict[str, str]:
    """Return the environment a process was started with; empty when it cannot be read."""
    result: dict[str, str] = {}
    for item in _read(pid, "environ").split(b"\0"):
        name, separator, value = item.partition(b"=")
        if separator:
            result.setdefault(os.fsdecode(name), os.fsdecode(value))
    return result


def command_line(pid: int) -> list[str]:
    """Return the argument vector; empty for kernel threads, zombies and processes that have ended."""
    raw = _read(pid, "cmdline")
    return [os.fsdecode(part) for part in raw.removesuffix(b"\0").split(b"\0")] if raw else []


def owner_uid(pid: int) -> int | None:
    """Return the effective user of a process, or ``None`` when it has ended."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def pids() -> list[int]:
    """Return the ids of all processes visible here."""
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def children(pid: int) -> list[int]:
    """Return the direct children of a process, of all its threads."""
    found: list[int] = []
    try:
        threads = [entry.name for entry in os.scandir(f"/proc/{pid}/task")]
    except OSError:
        return found
    for thread in threads:
        try:
            found += [int(child) for child in Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split()]
        except FileNotFoundError:
            if Path(f"/proc/{pid}/task/{thread}").exists():  # a kernel without CONFIG_PROC_CHILDREN
                return [child for child in pids() if (stat := read_stat(child)) and stat.parent == pid]
        except OSError:
            continue
    return found


def descendants(pid: int) -> list[int]:
    """Return children, their children and so on, parents before children."""
    found: list[int] = []
    level = children(pid)
    while level:
        found += level
        level = [child for parent in level for child in children(parent) if child not in found]
    return found


def ancestors(pid: int) -> list[int]:
    """Return parent, grandparent and so on up to the first process."""
    found: list[int] = []
    stat = read_stat(pid)
    while stat is not None and stat.parent > 0 and stat.parent not in found:
        found.append(stat.parent)
        stat = read_stat(stat.parent)
    return found


def open_fds(pid: int | None = None) -> dict[int, str]:
    """Return the open file descriptors of a process (default: this one) and what they point to."""
    result: dict[int, str] = {}
    for entry in Path(f"/proc/{pid or 'self'}/fd").iterdir():
        try:
            result[int(entry.name)] = str(entry.readlink())
        except OSError:
            continue  # the descriptor of the listing itself, or one closed meanwhile
    return result


def cpu_ticks(pid: int) -> int:
    """Return the clock ticks that a process, all its threads together, has spent on processors; 0 if ended."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0


def pss_kib(pid: int) -> int:
    """Return the proportional set size of a process in KiB: shared pages are divided among their users. 0 if ended."""
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1])
    return 0


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has taken, all its threads, to the nanosecond; 0 when it has ended."""
    try:
        return time.clock_gettime(
            ~pid << 3 | 2
        )  # the kernel's name of a process's clock, as clock_getcpuclockid has it
    except OSError:
        return 0.0


def rss_kib(pid: int) -> int:
    """Return the resident set size of a process in KiB; 0 when it has ended."""
    for line in _read(pid, "status").splitlines():
        if line.startswith(b"VmRSS:"):
            return int(line.split()[1])
    return 0


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Return the random id the kernel chose at boot, without dashes."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")


def pid_namespace(pid: int | None = None) -> int:
    """Return the inode of a process's (default: our) process namespace; 0 when it cannot be read."""
    try:
        return int(str(Path(f"/proc/{pid or 'self'}/ns/pid").readlink()).partition("[")[2].rstrip("]"))
    except (OSError, ValueError):
        return 0


def age_s() -> float:
    """Return how long this process has been running, in seconds, good to a hundredth."""
    ticks = start_ticks(os.getpid())
    return 0.0 if ticks is None else max(0, uptime_ticks() - ticks) / CLOCK_TICKS_PER_S


def uptime_ticks() -> int:
    """Return the clock ticks since boot, on the clock of ``start_ticks``."""
    return int(float(Path("/proc/uptime").read_text(encoding="ascii").split()[0]) * CLOCK_TICKS_PER_S)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
