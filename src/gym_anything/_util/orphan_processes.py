"""Processes that carry our label, wherever they are, and how they are ended without hitting a stranger."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gym_anything._util import labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Label
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class LabelledProcess:
    """A live process with our label; ``start_ticks`` keeps its number from being taken for another's."""

    pid: int
    start_ticks: int
    uid: int
    command: str
    label: Label

    @property
    def alive(self) -> bool:
        """Tell whether this very process still lives."""
        return proc.start_ticks(self.pid) == self.start_ticks


def labelled_processes() -> Iterator[LabelledProcess]:
    """Yield every process that carries a label which it can rightly have.

    Left out: ourselves and our ancestors (somebody may collect from inside a world), and a process older than the
    owner that its label names.
    """
    spared = {os.getpid(), *proc.ancestors(os.getpid())}
    for pid in proc.pids():
        if pid in spared:
            continue
        label = labels.label_of_process(pid)
        ticks, uid = proc.start_ticks(pid), proc.owner_uid(pid)
        if label is None or ticks is None or uid is None:
            continue
        if label.owner.boot == proc.boot_id()[:8] and ticks >= label.owner.start_ticks:
            yield LabelledProcess(pid, ticks, uid, " ".join(proc.command_line(pid))[:120], label)


def kill_all(processes: Sequence[LabelledProcess], deadline: Deadline) -> set[int]:
    """Kill these and wait until they are gone; return the ids of those that are not."""
    for process in processes:
        _kill(process)
    try:
        wait_until(
            lambda: not any(process.alive for process in processes), deadline=deadline, awaited="killed processes"
        )
    except DeadlineExceeded:
        return {process.pid for process in processes if process.alive}
    return set()


def _kill(process: LabelledProcess) -> None:
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        if process.alive:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended, or belongs to another user: it is reported as not ended then
    finally:
        os.close(fd)
