"""The order in which an Apptainer world comes up: image, instance, network, accounts, desktop, a door for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.runtime import pasta
from gym_anything.runtime.apptainer import rootless
from gym_anything.runtime.apptainer.built_image import Image, ensure_image
from gym_anything.runtime.apptainer.program import require_program
from gym_anything.runtime.container.furnish import check_mounts, furnish
from gym_anything.runtime.container.inside import HOSTNAME, has_network
from gym_anything.runtime.container.shared_folder import X_SOCKETS
from gym_anything.runtime.container.world import open_log
from gym_anything.runtime.limits import Limits
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.runners.apptainer.command import InstancePlace, init_argv, inside_env, instance_of
from gym_anything.runtime.runners.apptainer.launch import ApptainerWorld
from gym_anything.runtime.runners.apptainer.options import ApptainerOptions
from gym_anything.runtime.session import environment
from gym_anything.runtime.session.accounts import decide_accounts
from gym_anything.specs.env_spec import EnvSpec

Report = Callable[..., None]
_GUIDE_S = 3600
_NO_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")


@dataclass
class Blueprint:
    """What a world is made from: the same again after a checkpoint.

    Attributes:
        layers: folders of checkpoints under what it writes, the oldest first.
        notes: what was done in another way than asked, in sentences.
    """

    spec: EnvSpec
    options: ApptainerOptions
    image: Image
    layers: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)


def bring_up(world: ApptainerWorld, plan: Blueprint, report: Report) -> None:
    """Bring the world up. Whatever it raises, ``world.stop()`` removes what is there by then."""
    with world.coming_up():
        _bring_up(world, plan, report)
    for note in plan.notes:
        report("note", text=note)


def _bring_up(world: ApptainerWorld, plan: Blueprint, report: Report) -> None:
    spec, options = plan.spec, plan.options
    check_mounts(spec)
    program = require_program()
    ensure_image(plan.image, Deadline.after(options.image_timeout_s), report, world.told_to_end)
    world.limit(Limits.of(spec))
    plan.notes.extend(world.groups.shortfalls(spec))
    deadline = Deadline.after(options.start_timeout_s)
    env = inside_env(spec, environment.base_env(decide_accounts(spec.user_accounts).desktop))
    instance = instance_of(spec, _place(world, plan))
    world.launch(program, instance, init_argv(spec), env, deadline)
    if has_network(spec):
        _connect(world, deadline, fakeroot=instance.fakeroot)
    furnish(world, spec, options, plan.notes, deadline)


def _place(world: ApptainerWorld, plan: Blueprint) -> InstancePlace:
    folder = world.folder or world.make_folder()
    return InstancePlace(
        name=world.name,
        image=str(plan.image.path),
        io=str(folder.path),
        x_sockets=str(folder.path / X_SOCKETS),
        hosts=str(world.write_hosts(HOSTNAME)),
        overlay=str(world.overlay),
        guest_program=str(native_program("ga-guest")),
        desktop_program=str(native_program("ga-desktop")),
        layers=plan.layers,
        files=[m.source for m in plan.spec.mounts if not Path(m.source).expanduser().is_dir()],
        as_root=os.geteuid() == 0,
        config=rootless.settings_file(world.place.path) if world.host_uid is not None else "",
    )


def _connect(world: ApptainerWorld, deadline: Deadline, *, fakeroot: bool) -> None:
    """Join the instance's own network to the outside; what listens on this host's loopback stays out of its reach.

    Pasta finds that network by a program in it, and may look at none that has more rights than itself: one without any
    is started for it.
    """
    guide = world.channel.spawn([*_NO_RIGHTS, "sleep", str(_GUIDE_S)], deadline=deadline)
    pid = world.host_pid(guide)
    log = world.place.path / "network.log"
    argv = pasta.pasta_argv(pasta.pasta_program(), pid, as_root=os.geteuid() == 0)
    if not fakeroot:  # its users are this host's own
        argv = [*argv[:-1], "--netns-only", "--netns", f"/proc/{pid}/ns/net"]
    fd = open_log(str(log))
    try:
        process = world.spawn(argv, name="network", stderr=fd)
    finally:
        os.close(fd)
    pasta.await_network(process, pid, log)
    world.channel.kill(guide, 9, deadline=deadline)
