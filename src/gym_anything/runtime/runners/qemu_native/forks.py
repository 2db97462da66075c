"""Forks of QEMU worlds: what a branch point is made of, and what a fork of one says."""

from __future__ import annotations

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.qemu.branching import Hold, QemuBranch, branch_of
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.templates import SavedFiles, Templates
from gym_anything.runtime.runners.qemu_native.world import QemuWorld
from gym_anything.specs.env_spec import EnvSpec

BRANCH_S = 120.0
"""Bound of the making of a branch point, in seconds: copying a memory of many gigabytes takes a disk a while."""


def branch_world(world: QemuWorld, machine: GuestMachine, plan: MachinePlan, templates: Templates) -> QemuBranch:
    """Keep the present moment of a running world, which goes on. Raises: as ``branch_of``."""
    below: Hold | None = None
    made_from: SavedFiles | None = None
    if world.branch is not None:
        below, made_from = world.branch.hold(), world.branch.files
    elif world.base is not None:
        below, made_from = templates.store.lease(world.base), templates.files(world.base)
    try:
        return branch_of(machine, plan, made_from, world.disk, below, Deadline.after(BRANCH_S))
    except BaseException:
        if below is not None:
            below.release()
        raise


def note_for_fork(spec: EnvSpec) -> str | None:
    """Return what the user of a fork should know, if there is anything."""
    targets = [mount.target for mount in spec.mounts if mount.mode == "rw"]
    if not targets:
        return None
    return f"a fork keeps what it writes to {', '.join(targets)}: only the source writes it back to the host"
