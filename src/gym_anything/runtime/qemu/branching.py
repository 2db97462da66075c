"""Branch points: one moment of a running machine, from which others start while it goes on.

A branch point has the files of a template (``templates``), and is one for as long as somebody needs it: it lies in this
process's state folder, where no key leads to it, and goes with its last user; after ``kill -9``, with the next
collection.

Disks: the machine's own layer is copied while it is small, and where the file system copies at once. A bigger one is
frozen: it becomes the layer below, for the copies and for the machine itself, which writes into a new one from then on.
So the machine stands still for a moment only, and layers pile up no faster than it writes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.reflink import clone_file, copy_file
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything.errors import StateError
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import DiskLayer
from gym_anything.runtime.qemu.memory_copy import ChangesCopy, MemoryCopy, MemoryFiles, WholeCopy
from gym_anything.runtime.qemu.overlay import make_overlay
from gym_anything.runtime.qemu.templates import DISK, EMPTY, RAM, TOKEN, SavedFiles, snapshot

CHANGES = "changes"
"""What of a branch point's memory differs from the template's."""
COPIED_BYTES = 64 << 20
"""A layer with more data than this is frozen, not copied. 64 MiB: copied in some 50 ms, while the machine waits."""
_TOP = "disk"


class Hold(Protocol):
    """The use of some files, which stay at least as long."""

    def release(self) -> None:
        """Give it up; idempotent."""


class DiskChain:
    """The layers that a running machine's own folder holds: those that were frozen, and the one it writes to."""

    def __init__(self, folder: Path) -> None:
        self.frozen: list[DiskLayer] = []
        self.top = folder / DISK
        self._folder = folder
        self._node = _TOP

    def copy_to(self, target: Path) -> bool:
        """Copy the layer that a paused machine writes to, unless it is too big for that; tell whether it was."""
        if clone_file(self.top, target):
            return True
        if self.top.stat().st_blocks * 512 > COPIED_BYTES:
            return False
        copy_file(self.top, target)
        return True

    def freeze(self, machine: MachineProcess, empty: Path, deadline: Deadline) -> Path:
        """Have a paused machine write into a new layer from now on; return the one that was its newest until then.

        Source: QEMU ``docs/interop/live-block-operations``, ``blockdev-snapshot``.
        """
        number = len(self.frozen) + 1
        new, node = self._folder / f"disk-{number}.qcow2", f"{_TOP}-{number}"
        copy_file(empty, new)
        file = {"driver": "file", "filename": str(new), "discard": "unmap"}
        layer = {"driver": "qcow2", "node-name": node, "file": file, "discard": "unmap", "cache": {"no-flush": True}}
        machine.qmp.execute("blockdev-add", {**layer, "backing": None}, deadline=deadline)
        machine.qmp.execute("blockdev-snapshot", {"node": self._node, "overlay": node}, deadline=deadline)
        old, self.top, self._node = self.top, new, node
        self.frozen.append(DiskLayer(old))
        return old


class QemuBranch:
    """A branch point. Whoever made it holds it until ``release``; every machine that starts from it holds it, too."""

    def __init__(self, place: WorldDir, plan: MachinePlan, files: SavedFiles, below: Hold | None) -> None:
        """Use ``branch_of``. Args: place: its folder. below: what its files lie on; given up with them."""
        self.plan = plan
        self.files = files
        self.paused_s = 0.0
        self._place = place
        self._below = below
        self._lock = threading.Lock()
        self._holders = 0
        self._own = self.hold()

    def hold(self) -> Hold:
        """Return a use of it. Raises: StateError when it is gone."""
        with self._lock:
            if self._holders < 0:
                raise StateError("this branch point was released, and its last world has ended")
            self._holders += 1
        return _Held(self._give_up)

    def release(self) -> None:
        """See ``BranchPoint``."""
        self._own.release()

    def _give_up(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
            self._holders = -1
        try:
            self._place.remove()
        finally:
            if self._below is not None:
                self._below.release()


class _Held:
    """One use."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._give_up: Callable[[], None] | None = give_up

    def release(self) -> None:
        """Give it up; idempotent, any thread."""
        with self._lock:
            give_up, self._give_up = self._give_up, None
        if give_up is not None:
            give_up()


def branch_of(
    machine: GuestMachine,
    plan: MachinePlan,
    made_from: SavedFiles | None,
    chain: DiskChain,
    below: Hold | None,
    deadline: Deadline,
) -> QemuBranch:
    """Keep the present moment of a running machine, which goes on when this returns.

    Args: made_from: what its disk lies on, and its memory unless it was booted. below: a use of that, taken over.
    Raises: CheckpointError, WorldLost, DeadlineExceeded: then nothing is left of the branch point.
    """
    place = Run.current().new_world("qemu-branch")
    frozen = [DiskLayer(place.path / f"below-{number}.qcow2") for number in range(len(chain.frozen))]
    layers = [*(made_from.layers if made_from is not None else ()), *frozen, DiskLayer(place.path / DISK)]
    spec = machine.process.spec
    memory: MemoryFiles | None = None
    if made_from is not None and spec is not None and spec.incoming:  # its memory is a copy: what is different will do
        memory = MemoryFiles(made_from.ram.whole, place.path / CHANGES)
    branch = QemuBranch(place, plan, SavedFiles(place.path, tuple(layers), memory), below)
    try:
        for layer, here in zip(chain.frozen, frozen, strict=True):
            os.link(layer.path, here.path)  # they go with the machine's own folder, and these do not
        if made_from is None:
            make_overlay(place.path / EMPTY, plan.disk.disk_mib, plan.emulator)
        else:
            copy_file(made_from.folder / EMPTY, place.path / EMPTY)
        atomic_write.write_bytes(place.path / TOKEN, machine.token, mode=0o600)

        def keep_disk(target: Path) -> None:
            if not chain.copy_to(target):
                os.link(chain.freeze(machine.process, place.path / EMPTY, deadline), target)

        copy: MemoryCopy = WholeCopy(None, place.path / RAM)
        if made_from is not None and memory is not None:
            copy = ChangesCopy(made_from.ram, place.path / CHANGES)
        branch.paused_s = snapshot(machine, copy, keep_disk, place.path, deadline)
    except BaseException:
        branch.release()
        raise
    return branch
