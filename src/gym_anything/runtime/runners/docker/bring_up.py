"""The order in which a Docker world comes up: image, network, container, accounts, desktop, a door for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.errors import SpecNotFound
from gym_anything.runtime.container.furnish import check_mounts, furnish
from gym_anything.runtime.container.inside import GUEST_SOCKET, has_network
from gym_anything.runtime.container.shared_folder import X_SOCKETS, SharedFolder
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.runners.docker import command, egress, images, network
from gym_anything.runtime.runners.docker.launch import DockerWorld
from gym_anything.runtime.runners.docker.options import DockerOptions
from gym_anything.runtime.runners.docker.runtimes import await_systemd, check_runtime
from gym_anything.runtime.session import environment
from gym_anything.runtime.session.accounts import decide_accounts
from gym_anything.specs.env_spec import EnvSpec

Report = Callable[..., None]


@dataclass
class Blueprint:
    """What a world is made from: the same again after a checkpoint.

    Attributes:
        image: reference of the image, once it is in the engine.
        allowed: what its network may reach, when that is limited.
        notes: what was done in another way than asked, in sentences.
    """

    spec: EnvSpec
    options: DockerOptions
    image: str = ""
    allowed: egress.Allowed | None = None
    notes: list[str] = field(default_factory=list)


def bring_up(world: DockerWorld, plan: Blueprint, report: Report, *, again: bool = False) -> None:
    """Bring the world up. Whatever it raises, ``world.stop()`` removes what is there by then.

    Args: again: the container is there and was shut down.
    """
    with world.coming_up():
        if not again:
            _prepare(world, plan, report)
        _bring_up(world, plan, again=again)
    for note in plan.notes:
        report("note", text=note)


def _prepare(world: DockerWorld, plan: Blueprint, report: Report) -> None:
    """See to what the container will need: mounts, image, network, the shared folder."""
    spec, options = plan.spec, plan.options
    check_mounts(spec)
    check_runtime(world.engine, spec)
    if not plan.image:
        until = Deadline.after(options.image_timeout_s)
        plan.image = world.calls.make(
            lambda: images.ensure_image(world.engine, spec, options, report), doing="image", deadline=until
        )
    if has_network(spec):
        until = Deadline.after(options.start_timeout_s)
        world.calls.make(lambda: network.ensure_network(world.engine), doing="network", deadline=until)
        plan.allowed = _allowed(world, plan, until)
    world.make_folder()


def _bring_up(world: DockerWorld, plan: Blueprint, *, again: bool) -> None:
    spec, options, folder = plan.spec, plan.options, world.folder
    assert folder is not None
    deadline = Deadline.after(options.start_timeout_s)
    desktop = decide_accounts(spec.user_accounts).desktop  # its display; numbers come from the image
    place = _place(world, folder, plan)
    request = command.container_request(spec, plan.image, place, environment.base_env(desktop))
    world.launch(None if again else request, deadline)
    if plan.allowed is not None:
        guest = folder.await_socket(GUEST_SOCKET, deadline=deadline, awaited="the world's init")
        egress.enclose(guest, plan.allowed)
    if world.has_systemd:
        await_systemd(world, deadline, plan.notes)
    furnish(world, spec, options, plan.notes, deadline)


def _allowed(world: DockerWorld, plan: Blueprint, deadline: Deadline) -> egress.Allowed | None:
    """Look up what the world may reach; None for everything."""
    if not egress.is_asked(plan.spec):
        return None
    hindrance = egress.hindrance(plan.spec)
    if hindrance:
        plan.notes.append(f"security.network_allowlist is not enforced: {hindrance}")
        return None
    entries = plan.spec.security.network_allowlist or ()
    return world.calls.make(lambda: egress.look_up(entries), doing="look-up", deadline=deadline)


def _place(world: DockerWorld, folder: SharedFolder, plan: Blueprint) -> command.ContainerPlace:
    return command.ContainerPlace(
        io=str(folder.path),
        x_sockets=str(folder.path / X_SOCKETS),
        guest_program=str(native_program("ga-guest")),
        desktop_program=str(native_program("ga-desktop")),
        network=network.NAME,
        labels=world.place.labels,
        process_label=world.place.env,
        seccomp=_seccomp(plan.spec.security.seccomp_profile),
        hosts=plan.allowed.hosts if plan.allowed else (),
        dropped=egress.LIFTING[1:] if plan.allowed else (),
    )


def _seccomp(profile: str | None) -> str:
    """Return a seccomp profile's content; ``unconfined`` means none."""
    if profile is None or profile == "unconfined":
        return profile or ""
    try:
        return Path(profile).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise SpecNotFound(
            f"security.seccomp_profile: {profile} cannot be read: {error}", detail={"key": "security.seccomp_profile"}
        ) from error
