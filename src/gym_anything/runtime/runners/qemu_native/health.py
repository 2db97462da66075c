"""Signs of life of a machine, asked of QEMU itself; and its rest while nobody uses it."""

from __future__ import annotations

from abc import abstractmethod

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything.errors import CheckpointError, WorldError, WorldLost
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.turns import PATIENCE_S
from gym_anything.runtime.runners.desktop_senses import DesktopSenses

LIFE_S = 2.0
"""How long QEMU may take for an answer."""
_RUNNING = "running"
_ENDED = {
    "guest-panicked": "its kernel has crashed",
    "io-error": "its disk could not be read or written, as on a full disk of this host",
    "internal-error": "QEMU cannot go on with it",
    "shutdown": "it was switched off",
    "watchdog": "its watchdog has expired",
}
"""What QEMU says of a machine that will not go on by itself. Source: QEMU's QAPI schema, ``RunState``."""
REST_S = 30.0
"""How long a machine may take to come to rest, or to go on once it is its turn."""


class MachineHealth(DesktopSenses):
    """What a pool asks of a world that is a machine."""

    _world: GuestMachine | None

    @abstractmethod
    def _running(self, doing: str) -> GuestMachine:
        """Return the machine. Raises: StateError when there is none."""

    def check_life(self, deep: bool = False) -> None:
        """See ``HealthAccess``."""
        machine = self._running("check_life")
        ask_emulator(machine.process, resting=machine.resting)
        if deep and not machine.resting:  # a guest that rests is not woken up for it
            super().check_life(deep)

    def rest(self) -> None:
        """See ``HealthAccess``. The machine takes no processor time then."""
        machine = self._running("rest")
        if not machine.resting:
            try:
                machine.doze(Deadline.after(REST_S), hands=False)
            except CheckpointError as error:
                raise WorldLost(f"the world does not come to rest: {error}", detail=error.detail) from error

    def go_on(self) -> None:
        """See ``HealthAccess``."""
        machine = self._running("go_on")
        if machine.resting:
            try:
                machine.go_on(Deadline.after(PATIENCE_S + REST_S))
            except CheckpointError as error:
                raise WorldLost(f"the world does not go on after its rest: {error}", detail=error.detail) from error

    def memory_mib(self) -> float | None:
        """See ``HealthAccess``."""
        return None if self._world is None else memory_of(self._world.process)


def ask_emulator(process: MachineProcess, *, resting: bool = False) -> None:
    """Return when the monitor says that the machine runs.

    Args: resting: it was told to stand still, and may.
    Raises: WorldLost when it will not go on by itself; WorldError while it stands still for another reason (somebody
        may be saving it, which is soon over); DeadlineExceeded.
    """
    status = process.qmp.execute("query-status", deadline=Deadline.after(LIFE_S)).get("status")
    if status in _ENDED:
        raise WorldLost(f"{process.name} has stopped: {_ENDED[status]} (QEMU: {status})", detail={"status": status})
    if not resting and status != _RUNNING:
        raise WorldError(f"{process.name} stands still, and was not told to (QEMU: {status})")


def memory_of(process: MachineProcess) -> float | None:
    """Return the proportional memory of a machine in MiB; None when it has ended."""
    return proc.pss_kib(process.pid) / 1024 or None if process.alive else None
