"""Signs of life of a machine, asked of QEMU itself."""

from __future__ import annotations

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything.runtime.qemu.machine_process import MachineProcess

LIFE_S = 2.0
"""How long QEMU may take for an answer."""


def ask_emulator(process: MachineProcess) -> None:
    """Return when the monitor answers. Raises: WorldLost, DeadlineExceeded."""
    process.qmp.execute("query-status", deadline=Deadline.after(LIFE_S))


def memory_of(process: MachineProcess) -> float | None:
    """Return the proportional memory of a machine in MiB; None when it has ended."""
    return proc.pss_kib(process.pid) / 1024 or None if process.alive else None
