"""The last steps, inside: the process that becomes the world's init, and the one that brings its desktop up."""

from __future__ import annotations

import os
import resource
import select

from gym_anything.runtime.runners.local.sandbox import kernel, rootfs, seals, session
from gym_anything.runtime.runners.local.sandbox.refusals import attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gym_anything.runtime.runners.local.sandbox.plan import SandboxPlan
    from gym_anything.runtime.session.plan import SessionPlan

_INNER = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWCGROUP
)


LOGS = ("guest", "server", "session", "desktop")


class WorldFds:
    """The descriptors that cross into the world: two listening sockets with a token each, logs, and the report pipe."""

    __slots__ = ("desktop", "desktop_token", "guest", "guest_token", "logs", "ready")

    def __init__(
        self, *, ready: int, guest: int, guest_token: int, desktop: int, desktop_token: int, logs: dict[str, int]
    ) -> None:
        self.ready = ready
        self.guest = guest
        self.guest_token = guest_token
        self.desktop = desktop
        self.desktop_token = desktop_token
        self.logs = logs

    def for_the_world(self) -> tuple[int, ...]:
        """Return those the launcher itself must not keep open."""
        return (self.guest, self.guest_token, self.desktop, self.desktop_token, *self.logs.values())


def become_init(plan: SandboxPlan, id_count: int, fds: WorldFds, ok_w: int, go_r: int, parent_w: int) -> None:
    """Enter the inner namespaces and become ``ga-guest init``. Runs as PID 1; does not return.

    ``/proc`` is mounted here and not by the inner root: a PID namespace that belongs to the outer user namespace gives
    the world's root no new ``/proc`` with other options.
    """
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    attempt("proc", lambda: kernel.mount("proc", "/proc", "proc", flags))
    rootfs.leave_old_root()
    attempt("inner namespaces", lambda: kernel.unshare(_INNER))
    os.write(ok_w, b"1")
    if os.read(go_r, 1) != b"1":
        raise OSError("the inner user namespace got no ids")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.setsid()
    kernel.sethostname(plan["hostname"])
    kernel.bring_loopback_up()
    _limit(plan["rlimits"])
    attempt("seals", seals.seal)
    kernel.die_with_parent()
    if any(events & (select.POLLERR | select.POLLHUP) for _, events in _poll(parent_w)):
        os._exit(1)  # the launcher died before the kernel was told to watch it
    if plan["session"] is not None:
        _start_session(plan["session"], fds, parent_w)
    numbers = {"@guest": fds.guest, "@token": fds.guest_token}
    argv = [plan["guest_program"], *(str(numbers.get(word, word)) for word in plan["guest_argv"])]
    for fd in numbers.values():
        os.set_inheritable(fd, True)
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    for source, fd in ((null, 0), (fds.logs["guest"], 1), (fds.logs["guest"], 2)):
        os.dup2(source, fd)
    os.execve(argv[0], argv, plan["env"])


def _start_session(plan: SessionPlan, fds: WorldFds, parent_w: int) -> None:
    """Fork the process that brings the desktop up; it becomes init's child and ends by itself."""
    if os.fork():
        return
    try:
        os.close(parent_w)
        os.close(fds.guest)
        session.run(plan, fds.logs, (fds.desktop, fds.desktop_token), fds.ready)
    finally:
        os._exit(0)


def _poll(fd: int) -> list[tuple[int, int]]:
    poller = select.poll()
    poller.register(fd, 0)
    return poller.poll(0)


def _limit(limits: dict[str, int]) -> None:
    """Set resource limits by name (``RLIMIT_NOFILE`` …), never above what we may have."""
    for name, value in limits.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))
