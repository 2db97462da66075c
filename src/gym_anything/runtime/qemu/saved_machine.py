"""Saving a machine and loading it again: QEMU's migration to and from files that it inherits, every step checked.

A *template* is saved by reference: its memory lies in a file already, so only the devices are written (some
megabytes). A running *clone* has changes of its own and is saved whole. Loading mirrors that.

Source: QEMU ``docs/devel/migration``; capability ``x-ignore-shared``.
"""

from __future__ import annotations

import os
from pathlib import Path

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import CheckpointError, CheckpointStale, DeadlineExceeded, WorldLost
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.qmp import QmpClient

_FD_NAME = "ga-state"
_UNLIMITED_BYTES_S = 1 << 40
_KNOWS_FILES = (8, 2, 0)
_STEP = "MIGRATION"
_FAILED = ("failed", "cancelled")


def pause(machine: MachineProcess, deadline: Deadline) -> None:
    """Stop the machine's processors; its disk has everything that the guest was told is written."""
    machine.qmp.execute("stop", deadline=deadline)


def resume(machine: MachineProcess, deadline: Deadline) -> None:
    """Let the machine go on, also after it was saved."""
    machine.qmp.execute("cont", deadline=deadline)


def save(machine: MachineProcess, path: Path, deadline: Deadline, *, memory_in_file: bool) -> None:
    """Write the state of a paused machine to ``path``. It stays paused; afterwards ``resume`` works.

    Args: memory_in_file: the machine's memory is a shared file, which is left where it is.
    Raises: CheckpointError with QEMU's reason; nothing is left at ``path`` then.
    """
    qmp = machine.qmp
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        prepare(machine, deadline, memory_in_file=memory_in_file)
        qmp.execute("migrate", {"uri": _hand_over(qmp, path, fd, deadline)}, deadline=deadline)
        _await_migration(qmp, deadline, "saving")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def prepare(machine: MachineProcess, deadline: Deadline, *, memory_in_file: bool) -> None:
    """Tell a machine how it will be saved or loaded; ``save`` does it itself, and ``load`` if it was not done."""
    capabilities = [
        {"capability": "x-ignore-shared", "state": memory_in_file},
        {"capability": "events", "state": True},
    ]
    machine.qmp.execute("migrate-set-capabilities", {"capabilities": capabilities}, deadline=deadline)
    # Nobody outside knows the guest's network card by its former place, so it need not announce itself after a load.
    parameters = {"max-bandwidth": _UNLIMITED_BYTES_S, "announce-rounds": 0}
    machine.qmp.execute("migrate-set-parameters", parameters, deadline=deadline)


def load(
    machine: MachineProcess, path: Path, deadline: Deadline, *, memory_in_file: bool, prepared: bool = False
) -> None:
    """Load a saved state into a machine that waits for one; it is paused afterwards.

    Args: prepared: ``prepare`` was called.
    Raises: CheckpointStale when QEMU says that the state does not fit this machine, with its reason.
    """
    qmp = machine.qmp
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not prepared:
            prepare(machine, deadline, memory_in_file=memory_in_file)
        qmp.execute("migrate-incoming", {"uri": _hand_over(qmp, path, fd, deadline)}, deadline=deadline)
        _await_migration(qmp, deadline, "loading")
    except WorldLost as error:  # QEMU ends itself when a state does not fit, and says why on its standard error
        tail = machine.log_tail()
        raise CheckpointStale(
            f"the saved machine does not fit this QEMU: {tail or error}", detail={"difference": tail}
        ) from error
    finally:
        os.close(fd)


def _hand_over(qmp: QmpClient, path: Path, fd: int, deadline: Deadline) -> str:
    """Return what QEMU calls the file: its path where it knows files, else the descriptor that it is given.

    Source: QEMU ``docs/about/deprecated``: ``fd:`` is not for files any more since 9.1; ``file:`` came with 8.2.
    """
    if qmp.version >= _KNOWS_FILES:
        return f"file:{path}"
    qmp.execute("getfd", {"fdname": _FD_NAME}, deadline=deadline, fds=[fd])
    return f"fd:{_FD_NAME}"


def _await_migration(qmp: QmpClient, deadline: Deadline, doing: str) -> None:
    """Wait until QEMU says that all is written or read."""
    while True:
        info = qmp.execute("query-migrate", deadline=deadline)
        status = str(info.get("status", "none"))
        if status == "completed":
            return
        if status in _FAILED:
            reason = info.get("error-desc") or status
            raise CheckpointError(f"{doing} the machine failed: {reason}", detail={"reason": str(reason)})
        try:
            qmp.await_event((_STEP,), deadline=deadline)
        except DeadlineExceeded as error:
            raise expired_error(f"QEMU to end {doing} the machine", last_status=status) from error
