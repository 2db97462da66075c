"""From an init that answers to a usable world: accounts, desktop, a door for people, the spec's own program."""

from __future__ import annotations

import os
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.container.inside import IO, X_SOCKETS, entrypoint_argv
from gym_anything.runtime.container.people import LOGS, settle_accounts
from gym_anything.runtime.container.session import VNC_SOCKET, Session, needs_desktop, plan_session
from gym_anything.runtime.container.world import ContainerWorld, open_log
from gym_anything.runtime.runners.guest_world import People
from gym_anything.runtime.session import environment
from gym_anything.runtime.session.accounts import AccountFiles
from gym_anything.runtime.session.desktop_options import DesktopOptions
from gym_anything.runtime.vnc.door import open_door
from gym_anything.specs.env_spec import EnvSpec


def furnish(
    world: ContainerWorld, spec: EnvSpec, options: DesktopOptions, notes: list[str], deadline: Deadline
) -> None:
    """Bring everything up that the spec asks for; ``notes`` gets what was done in another way than asked."""
    folder = world.folder
    assert folder is not None
    people = settle_accounts(world.channel, spec, deadline)
    world.people = People("root", people.desktop.name, people.desktop.home)
    session_plan = plan_session(spec, options, people)
    world.exec_env["DISPLAY"] = f":{session_plan['display']}"
    session = Session(world.channel, folder, session_plan, people, deadline, world.check_going_on)
    starts_itself = spec.skip_display_audio_bootstrap
    if spec.entrypoint and starts_itself:
        _start_entrypoint(world, spec, people, deadline)
    if needs_desktop(spec):
        if not starts_itself:
            session.bring_up(options, wants_tree=spec.observation_of("ui_tree") is not None)
        world.attach_desktop(session, session_plan, deadline)
        world.stages = session.stages
        if spec.vnc.enable and world.door is None:
            _open_door(world, spec, str(folder.path), notes, deadline)
    if spec.entrypoint and not starts_itself:
        _start_entrypoint(world, spec, people, deadline)


def check_mounts(spec: EnvSpec) -> None:
    """Raise SpecNotFound for a mount whose source is not there, SpecInvalid for a place that cannot be had."""
    for mount in spec.mounts:
        if not Path(mount.source).expanduser().exists():
            raise SpecNotFound(
                f"mount source {mount.source} does not exist (target {mount.target})",
                detail={"key": "mounts", "source": mount.source, "target": mount.target},
            )
        target = "/" + os.path.normpath(mount.target).strip("/")
        if target in ("/", IO, X_SOCKETS) or f"{target}/".startswith(("/proc/", "/sys/", "/dev/")):
            raise SpecInvalid(
                f"mounts: nothing can be mounted at {mount.target}; the world keeps it for itself",
                detail={"key": "mounts", "target": mount.target, "fix": "use a place below /workspace"},
            )


def _start_entrypoint(world: ContainerWorld, spec: EnvSpec, people: AccountFiles, deadline: Deadline) -> None:
    """Start the spec's own program in the background, as ``security.user``."""
    env = {**environment.base_env(people.desktop), **spec.security.resolved_env, **world.exec_env}
    world.channel.spawn(
        entrypoint_argv(spec),
        deadline=deadline,
        user=str(spec.security.user or "root"),
        env=env,
        log_path=f"{LOGS}/entrypoint.log",
    )


def _open_door(world: ContainerWorld, spec: EnvSpec, folder: str, notes: list[str], deadline: Deadline) -> None:
    if spec.skip_display_audio_bootstrap:
        notes.append("vnc: the image starts its X server itself; no VNC is offered by us")
        return
    world.own(f"{IO}/{VNC_SOCKET}", deadline)
    fd = open_log(str(world.place.path / "vnc.log"))
    try:
        door = world.door = open_door(spec.vnc, (folder, VNC_SOCKET), world.spawn, fd)
    finally:
        os.close(fd)
    if door.moved_from is not None:
        notes.append(f"VNC port {door.moved_from} is taken; it is {door.port} instead")
