"""What runs the container below the engine: its own runtime, or the one that ``security.runtime`` names."""

from __future__ import annotations

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GuestCommandFailed, MissingDependency, WorldLost, WorldStartFailed
from gym_anything.runtime.container.session import needs_desktop
from gym_anything.runtime.container.world import ContainerWorld
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.runners.docker.vendor import Engine
from gym_anything.specs.env_spec import EnvSpec

GVISOR = "runsc"
_HOW = {
    GVISOR: "https://gvisor.dev/docs/user_guide/quick_start/docker/, with the flag --host-uds=all",
    "sysbox-runc": "https://github.com/nestybox/sysbox/blob/master/docs/user-guide/install-package.md",
}
_POLL_S = 0.05
_UP = ("running", "degraded")


def misfits(spec: EnvSpec) -> list[str]:
    """Return what a runtime cannot be asked for, one sentence each."""
    if spec.security.runtime == GVISOR and needs_desktop(spec):
        return [
            "security.runtime: a desktop does not run under gVisor (runsc): its frames are memory that the desktop "
            "service hands to this process as a descriptor, and gVisor gives no memory of its own to the host; worlds "
            "without a screen run, and a desktop runs under the engine's own runtime"
        ]
    return []


def check_runtime(engine: Engine, spec: EnvSpec) -> None:
    """Raise MissingDependency when the engine does not have the runtime that the spec names; it lists what there is."""
    wanted = spec.security.runtime
    if wanted is None:
        return
    known = sorted(engine.info().get("Runtimes") or {})
    if wanted not in known:
        fix = f"install it and name it in /etc/docker/daemon.json: {_HOW.get(wanted, 'see its own documentation')}"
        raise MissingDependency(
            f"security.runtime: the engine has no runtime {wanted!r}; it has {', '.join(known) or 'none'}. Fix: {fix}",
            detail={"fix": fix, "key": "security.runtime"},
        )


def await_systemd(world: ContainerWorld, deadline: Deadline, notes: list[str]) -> None:
    """Wait until the systemd of a world has started all that it starts; ``notes`` gets what failed.

    Before, it may still clear the folders in which our sockets are to lie. Raises: WorldStartFailed, DeadlineExceeded.
    """
    channel = world.channel
    try:
        wait_until(
            lambda: _state(channel, deadline) in _UP, deadline=deadline, awaited="the world's systemd", poll_s=_POLL_S
        )
    except WorldLost as error:
        world.check_going_on()
        tail = world.log_tail()
        raise WorldStartFailed(
            "security.use_systemd: the systemd of the world ended. It needs mount_cgroups, and privileged or the "
            f"capability SYS_ADMIN (cap_add), or runtime: sysbox-runc; log tail:\n{tail}",
            detail={"log_tail": tail, "key": "security.use_systemd"},
        ) from error
    done = channel.exec(["systemctl", "list-units", "--failed", "--plain", "--no-legend"], deadline=deadline)
    failed = [line.split()[0] for line in done.stdout.decode(errors="replace").splitlines() if line.split()]
    if failed:
        notes.append(f"systemd: these units failed to start: {', '.join(failed)}")


def _state(channel: GuestChannel, deadline: Deadline) -> str:
    try:
        done = channel.exec(["systemctl", "is-system-running"], deadline=deadline)
    except GuestCommandFailed as error:
        raise WorldStartFailed(
            f"security.use_systemd: the image has no systemctl: {error}", detail={"key": "security.use_systemd"}
        ) from error
    return done.stdout.decode(errors="replace").strip()
