"""Templates: machines saved with disk, memory and devices, of which any number of clones wakes within milliseconds.

A template is a checkpoint with these files: ``ram`` (the memory, which clones map privately), ``state`` (the devices),
``disk.qcow2`` (what was written above the checkpoints below it), ``empty.qcow2`` (a clone's layer, to be copied),
``token`` (the secret of its way in, the clones' too).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.reflink import copy_file
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything.errors import CheckpointError, CheckpointStale
from gym_anything.runtime.checkpoints.key import KeyMaterial
from gym_anything.runtime.checkpoints.store import Checkpoint, CheckpointStore
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.qemu.guest_machine import GuestMachine, new_token
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import DiskLayer, MachineSpec, Ram
from gym_anything.runtime.qemu.memory_copy import MemoryCopy, MemoryFiles, WholeCopy
from gym_anything.runtime.qemu.overlay import make_overlay
from gym_anything.runtime.qemu.rest import CALM, await_rest, still
from gym_anything.runtime.qemu.saved_machine import pause, resume, save

RAM, STATE, DISK, EMPTY, TOKEN = "ram", "state", "disk.qcow2", "empty.qcow2", "token"
LIBRARY = "ga-memory"
"""Gives a clone its private copy of the memory and lets QEMU leave it out of what it saves."""
BOOTED = "qemu-booted"
"""Kind of the templates that are nothing but an image that was started."""
CREATE_S = 900.0

Watch = Callable[[GuestMachine | None], object]
"""Told which machine is at work, so that somebody else can end it."""


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """Where a saved machine lies.

    Attributes:
        folder: of its files. layers: its disk's above the image's, the newest last.
        memory: where another folder's memory is a part of its own; None: it is ``ram`` in the folder.
    """

    folder: Path
    layers: tuple[DiskLayer, ...]
    memory: MemoryFiles | None = None

    @property
    def ram(self) -> MemoryFiles:
        """What its memory is made of."""
        return self.memory or MemoryFiles(self.folder / RAM)


class Templates:
    """All templates in one folder."""

    def __init__(self, root: Path) -> None:
        self.store = CheckpointStore(root)

    # --- finding -------------------------------------------------------------------------------------------------

    def layers(self, template: Checkpoint) -> list[DiskLayer]:
        """Return the layers of a template's disk above the image's, the newest last."""
        below = [self.store.get(key) for key in reversed(template.parents)]
        return [DiskLayer(one.path / DISK) for one in (*below, template)]

    def files(self, template: Checkpoint) -> SavedFiles:
        """Return where a template lies."""
        return SavedFiles(template.path, tuple(self.layers(template)))

    def booted(
        self, plan: MachinePlan, deadline: Deadline, watch: Watch, aborted: Callable[[], bool] = lambda: False
    ) -> Checkpoint:
        """Return the template of a freshly started machine, made when it is not there (that takes a boot).

        Raises: what ``GuestMachine.boot`` raises; CheckpointLocked, CheckpointError.
        """
        material = KeyMaterial({"kind": BOOTED, "facts": plan.facts(), "rest": dataclasses.asdict(still())})
        found = self.store.find(material.key)
        if found is not None:
            return found
        with self.store.creating(material.key, Deadline.after(CREATE_S), aborted=aborted) as existing:
            return existing or self.make(plan, material, {"level": "booted"}, (), deadline, watch)

    # --- making --------------------------------------------------------------------------------------------------

    def make(
        self,
        plan: MachinePlan,
        material: KeyMaterial,
        facts: Mapping[str, Any],
        parents: tuple[str, ...],
        deadline: Deadline,
        watch: Watch,
        *,
        overlay: Path | None = None,
    ) -> Checkpoint:
        """Boot a machine from its disk, save it and return the template; call it inside ``store.creating``.

        Args:
            facts: for its manifest. parents: keys of the templates that its disk lies on, the nearest first.
            overlay: what a world has written above them; it is copied. None: nothing.
        """
        below = [DiskLayer(self.store.get(key).path / DISK) for key in reversed(parents)]

        def fill(staging: Path) -> None:
            self._lay_down(plan, staging, overlay, new_token())
            place = Run.current().new_world("qemu-template")
            machine = new_machine(place, (staging / TOKEN).read_bytes())
            try:
                watch(machine)
                self._bring_up(machine, plan, staging, below, deadline)
                await_rest(machine.process.pid, CALM if parents else still())
                pause(machine.process, deadline)
                save(machine.process, staging / STATE, deadline, memory_in_file=True)
            finally:
                watch(None)
                machine.stop()
                place.remove()

        return self.store.publish(material.key, _manifest(plan, material, facts, parents), fill)

    def make_of_running(
        self,
        plan: MachinePlan,
        material: KeyMaterial,
        facts: Mapping[str, Any],
        base: Checkpoint | None,
        machine: GuestMachine,
        overlay: Path,
        deadline: Deadline,
    ) -> Checkpoint:
        """Make a template of a running machine as it is and return it; call it inside ``store.creating``.

        It stands still for a moment and goes on, also when this fails. The template can be used at once and is on disk
        some seconds later.

        Args: base: the template that the machine was made from; None: it was booted. overlay: what it writes to.
        """
        parents = () if base is None else (base.key, *base.parents)

        def fill(staging: Path) -> None:
            empty = None if base is None else base.path / EMPTY
            if empty is None:
                make_overlay(staging / EMPTY, plan.disk.disk_mib, plan.emulator)
            else:
                copy_file(empty, staging / EMPTY)
            atomic_write.write_bytes(staging / TOKEN, machine.token, mode=0o600)
            memory = WholeCopy(None if base is None else base.path / RAM, staging / RAM)
            snapshot(machine, memory, lambda disk: copy_file(overlay, disk), staging, deadline)

        manifest = _manifest(plan, material, facts, parents)
        return self.store.publish(material.key, manifest, fill, sync_later=True)

    @staticmethod
    def _lay_down(plan: MachinePlan, staging: Path, overlay: Path | None, token: bytes) -> None:
        make_overlay(staging / EMPTY, plan.disk.disk_mib, plan.emulator)
        copy_file(staging / EMPTY if overlay is None else overlay, staging / DISK)
        atomic_write.write_bytes(staging / TOKEN, token, mode=0o600)

    @staticmethod
    def _bring_up(
        machine: GuestMachine,
        plan: MachinePlan,
        staging: Path,
        below: list[DiskLayer],
        deadline: Deadline,
    ) -> None:
        spec = plan.spec(
            machine.process.name.replace(" ", "-"),
            ram=Ram(plan.memory_mib, staging / RAM, share=True),
            above=[*below, DiskLayer(staging / DISK)],
            token_file=staging / TOKEN,
        )
        machine.boot(spec, plan.emulator, deadline)
        machine.keep_identity_in_memory(deadline)
        machine.try_hands(deadline)
        machine.flush(deadline)
        machine.disconnect()

    # --- cloning -------------------------------------------------------------------------------------------------

    def wake(
        self,
        template: Checkpoint,
        plan: MachinePlan,
        place: WorldDir,
        deadline: Deadline,
        watch: Watch,
        vnc_socket: Path | None = None,
    ) -> GuestMachine:
        """Return a clone of a template, as ``wake_copy``. Raises: CheckpointStale naming the difference, too."""
        check_fits(template, plan)
        return wake_copy(self.files(template), plan, place, deadline, watch, vnc_socket)


def wake_copy(
    saved: SavedFiles,
    plan: MachinePlan,
    place: WorldDir,
    deadline: Deadline,
    watch: Watch,
    vnc_socket: Path | None = None,
) -> GuestMachine:
    """Return a clone of a machine saved under the same plan, awake and distinct, with its own files in ``place``.

    Whatever it raises, ``stop`` of the machine that ``watch`` was told ends what is there by then.

    Raises: what ``GuestMachine.stand_by`` and ``wake`` raise.
    """
    machine = new_machine(place, (saved.folder / TOKEN).read_bytes())
    watch(machine)
    stand_by(machine, saved, plan, place, deadline, vnc_socket)
    machine.wake(saved.folder / STATE, deadline)
    return machine


def stand_by(
    machine: GuestMachine,
    saved: SavedFiles,
    plan: MachinePlan,
    place: WorldDir,
    deadline: Deadline,
    vnc_socket: Path | None = None,
) -> None:
    """Start a machine that waits for a saved one's state, with its own files in ``place``.

    Raises: what ``GuestMachine.stand_by`` raises.
    """
    copy_file(saved.folder / EMPTY, place.path / DISK)
    machine.stand_by(copy_spec(saved, plan, place.path, place.id, vnc_socket), plan.emulator, deadline)


def copy_spec(
    saved: SavedFiles, plan: MachinePlan, folder: Path, name: str, vnc_socket: Path | None = None
) -> MachineSpec:
    """Return what a clone of a saved machine is started as. Args: folder: where its own disk layer lies."""
    return plan.spec(
        name,
        ram=Ram(plan.memory_mib, saved.ram.whole, library=native_program(LIBRARY), changes=saved.ram.changes),
        above=[*saved.layers, DiskLayer(folder / DISK)],
        token_file=saved.folder / TOKEN,
        incoming=True,
        vnc_socket=vnc_socket,
    )


def snapshot(
    machine: GuestMachine, memory: MemoryCopy, keep_disk: Callable[[Path], object], target: Path, deadline: Deadline
) -> float:
    """Write memory, devices and disk layer of a running machine into the folder ``target``; it goes on afterwards.

    What need not wait for the moment is done before it. No connection of ours lives through it, lest every copy has its
    other end.

    Args: keep_disk: told where to put the layer that it writes to.
    Returns: for how long it stood still, in seconds.
    Raises: CheckpointError, WorldLost; the machine goes on.
    """
    process = machine.process
    memory.begin(process.pid)
    machine.disconnect()
    began = time.monotonic()
    try:
        pause(process, deadline)
        save(process, target / STATE, deadline, memory_in_file=True)
        memory.finish(process.pid)
        keep_disk(target / DISK)
    finally:
        resume(process, deadline)
        paused_s = time.monotonic() - began
        machine.connect(deadline)
    return paused_s


def _manifest(
    plan: MachinePlan, material: KeyMaterial, facts: Mapping[str, Any], parents: Sequence[str]
) -> dict[str, Any]:
    made_of = {"parents": list(parents), "material": dict(material.parts), "machine": plan.facts()}
    return {**facts, "runner": "qemu", **made_of}


def new_machine(place: WorldDir, token: bytes) -> GuestMachine:
    """Return a machine that is not started, with its logs in a world's folder."""
    return GuestMachine(MachineProcess(place.path, place.env, f"machine of world {place.id}"), token)


def boot_from_disk(
    plan: MachinePlan,
    above: Sequence[DiskLayer],
    place: WorldDir,
    deadline: Deadline,
    watch: Watch,
    vnc_socket: Path | None = None,
) -> GuestMachine:
    """Return a machine started from its disk, with what it writes in ``place``: what lies there goes on being used.

    Raises: what ``GuestMachine.boot`` raises.
    """
    overlay, token_file = place.path / DISK, place.path / TOKEN
    if not overlay.exists():
        make_overlay(overlay, plan.disk.disk_mib, plan.emulator)
    atomic_write.write_bytes(token_file, new_token(), mode=0o600)
    machine = new_machine(place, token_file.read_bytes())
    watch(machine)
    layers = [*above, DiskLayer(overlay)]
    ram = Ram(plan.memory_mib)
    spec = plan.spec(place.id, ram=ram, above=layers, token_file=token_file, vnc_socket=vnc_socket)
    machine.boot(spec, plan.emulator, deadline)
    return machine


def check_fits(template: Checkpoint, plan: MachinePlan) -> None:
    """Refuse a template that another machine, image or QEMU made: loaded, it would be dead or worse.

    Raises: CheckpointStale that names what differs.
    """
    made_by = template.manifest.get("machine")
    if not isinstance(made_by, dict):
        raise CheckpointError(f"checkpoint {template.key} does not say what machine it is of", detail={})
    differences = KeyMaterial(plan.facts()).differences(made_by)
    if differences:
        raise CheckpointStale(
            f"checkpoint {template.key} is of another machine; different: {', '.join(differences)}",
            detail={"key": template.key, "difference": differences},
        )
