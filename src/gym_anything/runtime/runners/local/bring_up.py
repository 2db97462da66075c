"""The order in which a local world comes up: limits, sandbox, desktop, network, mounts, a door for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import StopPlan
from gym_anything.errors import GymAnythingError, UnsupportedFeature, WorldStartFailed
from gym_anything.runtime import pasta
from gym_anything.runtime.limits import Limits
from gym_anything.runtime.runners.guest_world import People
from gym_anything.runtime.runners.local import direct
from gym_anything.runtime.runners.local.command import VNC_SOCKET, HostView, WorldPlace, sandbox_plan
from gym_anything.runtime.runners.local.launch import DIRECT, SANDBOX, LocalWorld
from gym_anything.runtime.runners.local.mounts import MountSet, copy_shared_in
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox.plan import LayerPlan
from gym_anything.runtime.vnc.door import VncDoor, open_door
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
    """Bring the world up. Whatever it raises, ``world.stop()`` removes what is there by then.

    Raises: what ``LocalWorld.start`` raises; Aborted when the world was stopped meanwhile.
    """
    try:
        _bring_up(world, plan, layers, report)
    except OSError as error:
        world.check_going_on()  # its folder may have gone under our feet
        if isinstance(error, GymAnythingError):
            raise
        raise WorldStartFailed(f"the world could not be started: {error}") from error


def _bring_up(world: LocalWorld, plan: Blueprint, layers: Sequence[LayerPlan], report: Report) -> None:
    deadline = Deadline.after(plan.options.start_timeout_s)
    _limit(world, plan)
    place = WorldPlace(
        folder=str(world.place.path),
        ids=world.ids.plan(),
        generation=world.next_generation(),
        layers=layers,
        cgroups=world.groups.procs_files,
        mounts=plan.mounts.shown,
        label=tuple(world.place.env.items()),
    )
    if plan.options.sandbox:
        world.start(SANDBOX, sandbox_plan(plan.spec, plan.options, plan.host, place), deadline)
    else:
        _bring_up_directly(world, plan, place, deadline)
    if plan.spec.resources.net and plan.options.sandbox:
        _connect(world)
    if plan.mounts.copied or plan.mounts.shared:
        copy_shared_in(world.channel, plan.mounts)
    if plan.spec.vnc.enable:
        world.door = _open_door(world, plan)
    for note in plan.notes:
        report("note", text=note)


def _bring_up_directly(world: LocalWorld, plan: Blueprint, place: WorldPlace, deadline: Deadline) -> None:
    if plan.spec.mounts:
        raise UnsupportedFeature(
            "a world without a sandbox has no mounts of its own; leave out runner_options.sandbox, or the mounts",
            detail={"feature": "mounts", "reason": "runner_options.sandbox is false", "fix": "use the sandbox"},
        )
    # Sockets lie in this folder, and a socket's path must be short: this one is.
    folder = world.place.socket_path(str(direct.vnc_socket(Path()))).parents[1]
    place = replace(place, folder=str(folder))
    account = direct.own_account(folder)
    own = f"{account.uid}:{account.gid}"
    world.people = People(own, own, account.home)
    world.exec_env["HOME"] = account.home
    world.stop_plan = StopPlan(signal=15, grace_s=2.0)  # an X server on the host has a socket and a lock to remove
    world.start(DIRECT, direct.direct_plan(plan.spec, plan.options, plan.host, place), deadline)


def _limit(world: LocalWorld, plan: Blueprint) -> None:
    world.limit(Limits.of(plan.spec))
    plan.notes.extend(world.groups.shortfalls(plan.spec))


def _connect(world: LocalWorld) -> None:
    log = world.place.path / "network.log"
    inside = pasta.program_inside(world.init_pid)
    argv = pasta.pasta_argv(pasta.pasta_program(), inside, as_root=os.geteuid() == 0)
    fd = _open_log(str(log))
    try:
        process = world.spawn(argv, name="network", stderr=fd)
    finally:
        os.close(fd)
    pasta.await_network(process, world.init_pid, log)


def _open_door(world: LocalWorld, plan: Blueprint) -> VncDoor:
    fd = _open_log(str(world.place.path / "vnc.log"))
    try:
        socket = (f"/proc/{world.init_pid}/root", VNC_SOCKET)
        if not plan.options.sandbox:
            socket = (str(world.place.path), str(direct.vnc_socket(Path())))
        door = open_door(plan.spec.vnc, socket, world.spawn, fd)
    finally:
        os.close(fd)
    if door.moved_from is not None:
        plan.notes.append(f"VNC port {door.moved_from} is taken; it is {door.port} instead")
    return door


def _open_log(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
