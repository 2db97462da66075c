"""Checkpoints of QEMU worlds: each is a template, so that every restored world is a clone that wakes at once.

With its memory (``use_savevm``) a world goes on in every clone from where it was saved. Without, its programs are
ended, the machine is switched off and started again from its disk, and *that* is saved: what a restored world would be
after its boot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import CheckpointStale, StateError
from gym_anything.runtime.checkpoints.key import KeyMaterial, key_material
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.checkpoints.store import Checkpoint
from gym_anything.runtime.qemu.cache import checkpoint_root
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.templates import CREATE_S, DISK, Templates, Watch
from gym_anything.runtime.runners.qemu_native.world import QemuWorld
from gym_anything.specs.env_spec import EnvSpec

KIND = "qemu"


class QemuCheckpoints:
    """The checkpoints of one runner: which one is meant, and how it is made."""

    def __init__(self, spec: EnvSpec, volatile_options: Sequence[str]) -> None:
        self._spec = spec
        self._volatile = volatile_options
        self.templates = Templates(checkpoint_root())
        self._name: CheckpointName | None = None
        self._task_digest: str | None = None

    @property
    def memory(self) -> bool:
        """True when the chosen checkpoint keeps the memory."""
        return self._name is not None and self._name.memory

    def choose(self, name: CheckpointName, task_digest: str | None) -> None:
        """Decide which checkpoint is meant from now on."""
        self._name, self._task_digest = name, task_digest

    def material(self, plan: MachinePlan) -> KeyMaterial:
        """Return what the chosen key is made of. Raises: StateError when none was chosen."""
        if self._name is None:
            raise StateError("set_checkpoint_key must come first")
        return key_material(
            self._spec,
            self._name,
            kind=KIND,
            facts={"machine": plan.facts()},
            volatile_options=self._volatile,
            task_digest=self._task_digest,
        )

    def exists(self, plan: MachinePlan) -> bool:
        """Tell whether a usable checkpoint lies under the chosen key."""
        try:
            return self.templates.store.find(self.material(plan).key) is not None
        except CheckpointStale:
            return False

    def get(self, plan: MachinePlan) -> Checkpoint:
        """Return the chosen checkpoint. Raises: CheckpointMissing, CheckpointStale."""
        return self.templates.store.get(self.material(plan).key)

    def delete(self, plan: MachinePlan) -> bool:
        """Remove the chosen checkpoint. Raises: CheckpointLocked while another lies on it."""
        return self.templates.store.remove(self.material(plan).key)

    def make_with_memory(self, world: QemuWorld, machine: GuestMachine, plan: MachinePlan) -> None:
        """Save a running world as it is; it stands still for a moment meanwhile, and goes on."""
        material, deadline = self.material(plan), Deadline.after(CREATE_S)
        with self.templates.store.creating(material.key, deadline) as existing:
            if existing is None:
                overlay = world.place.path / DISK
                self.templates.make_of_running(plan, material, self._facts(), world.base, machine, overlay, deadline)

    def make_from_disk(self, world: QemuWorld, machine: GuestMachine, plan: MachinePlan, watch: Watch) -> Checkpoint:
        """Switch a world off and save what starts from its disk. The world's machine is gone then; its disk is not."""

        def switch_off() -> None:
            machine.switch_off(Deadline.after(CREATE_S))
            world.end_machine()

        return self._make(world, plan, watch, switch_off, overlay=world.place.path / DISK)

    def _make(
        self,
        world: QemuWorld,
        plan: MachinePlan,
        watch: Watch,
        prepare: Callable[[], None],
        *,
        overlay: Path,
    ) -> Checkpoint:
        """Make the chosen checkpoint, or take the one that another process has made meanwhile."""
        material, deadline = self.material(plan), Deadline.after(CREATE_S)
        parents = () if world.base is None else (world.base.key, *world.base.parents)
        with self.templates.store.creating(material.key, deadline) as existing:
            if existing is not None:
                return existing
            prepare()
            return self.templates.make(plan, material, self._facts(), parents, deadline, watch, overlay=overlay)

    def _facts(self) -> dict[str, Any]:
        assert self._name is not None
        return {
            "level": self._name.level,
            "task_id": self._name.task_id,
            "memory": self._name.memory,
            "env": self._spec.id,
        }
