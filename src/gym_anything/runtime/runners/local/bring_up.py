"""The order in which a local world comes up: limits, sandbox, desktop, network, mounts, a door for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import StopPlan
from gym_anything._util.supervisor import Supervisor
from gym_anything.runtime.runners.local import network, vnc
from gym_anything.runtime.runners.local.command import HostView, WorldPlace, sandbox_plan
from gym_anything.runtime.runners.local.control_groups import ControlGroups, Limits
from gym_anything.runtime.runners.local.launch import LocalWorld
from gym_anything.runtime.runners.local.mounts import MountSet, copy_shared_in
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox.plan import LayerPlan
from gym_anything.specs.env_spec import EnvSpec

Report = Callable[..., None]


@dataclass
class Blueprint:
    """What a world is made from: the same again after a checkpoint."""

    spec: EnvSpec
    options: LocalOptions
    host: HostView
    mounts: MountSet
    notes: list[str] = field(default_factory=list)
    """What the spec asks for and this host does not give, in sentences."""


def bring_up(world: LocalWorld, plan: Blueprint, layers: Sequence[LayerPlan], report: Report) -> None:
    """Bring the world up. Whatever it raises, ``world.stop()`` removes what is there by then."""
    deadline = Deadline.after(plan.options.start_timeout_s)
    groups = _limit(world, plan)
    place = WorldPlace(
        folder=str(world.place.path),
        generation=world.next_generation(),
        layers=layers,
        cgroups=groups.procs_files,
        mounts=plan.mounts.shown,
        label=tuple(world.place.env.items()),
    )
    world.start(sandbox_plan(plan.spec, plan.options, plan.host, place), deadline)
    if plan.spec.resources.net:
        _connect(world)
    if plan.mounts.copied or plan.mounts.shared:
        copy_shared_in(world.channel, plan.mounts)
    if plan.spec.vnc.enable:
        world.door = _open_door(world, plan)
    for note in plan.notes:
        report("note", text=note)


def _limit(world: LocalWorld, plan: Blueprint) -> ControlGroups:
    resources = plan.spec.resources
    memory = None if resources.mem_gb is None else int(resources.mem_gb * (1 << 30))
    groups = ControlGroups.create(world.place.label, Limits(resources.cpu, memory))
    world.groups = groups
    asked = {"cpu": ("resources.cpu", resources.cpu), "memory": ("resources.mem_gb", resources.mem_gb)}
    for controller, reason in groups.unenforced.items():
        name, value = asked.get(controller, ("", None))
        if value is not None:
            plan.notes.append(f"{name} is not enforced: {reason}")
    return groups


def _connect(world: LocalWorld) -> None:
    log = world.place.path / "network.log"
    argv = network.pasta_argv(network.pasta_program(), world.init_pid, as_root=os.geteuid() == 0)
    fd = _open_log(str(log))
    try:
        process = Supervisor.shared().spawn(
            argv,
            name=f"network of world {world.place.id}",
            env={"PATH": "/usr/bin:/bin", **world.place.env},
            stderr=fd,
            stop=StopPlan(signal=9, grace_s=0.0),
        )
    finally:
        os.close(fd)
    world.companions.append(process)
    network.await_network(process, world.init_pid, log)


def _open_door(world: LocalWorld, plan: Blueprint) -> vnc.VncDoor:
    fd = _open_log(str(world.place.path / "vnc.log"))
    try:
        door = vnc.open_door(plan.spec.vnc, world.init_pid, world.place.env, fd)
    finally:
        os.close(fd)
    world.companions.append(door.process)
    if door.moved_from is not None:
        plan.notes.append(f"VNC port {door.moved_from} is taken; it is {door.port} instead")
    return door


def _open_log(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
