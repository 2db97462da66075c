"""Waking a copy of a template: one that was made ahead and waits, where there is one, else one that is made now."""

from __future__ import annotations

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.checkpoints.store import Checkpoint
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.templates import Templates, check_fits
from gym_anything.runtime.qemu.waiting import WaitingMachines, waiting_key
from gym_anything.runtime.runners.qemu_native.world import QemuWorld


def wake_soon(
    templates: Templates, base: Checkpoint, plan: MachinePlan, world: QemuWorld, deadline: Deadline
) -> GuestMachine:
    """Return a clone of a template in a world that lies on it, and see to it that another one waits for the next.

    Raises: as ``Templates.wake``.
    """
    check_fits(base, plan)
    pool, saved = WaitingMachines.shared(), templates.files(base)
    waiting = pool.take(waiting_key(saved, plan), deadline, lambda: world.ended)
    if waiting is None:
        machine = templates.wake(base, plan, world.place, deadline, world.take)
    else:
        machine = world.adopt(waiting)
        machine.go_on(deadline)
    machine.after_first_look(lambda: pool.want(saved, plan, lambda: templates.store.lease(base), world.runner))
    return machine
