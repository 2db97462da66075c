"""The network of a world that asks for one: ``pasta`` carries its connections, the host's own services stay hidden."""

from __future__ import annotations

import shutil
from pathlib import Path

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded, MissingDependency, WorldStartFailed

_SEARCH = "/usr/bin:/bin:/usr/local/bin"
_READY_S = 10.0
_INSIDE_S = 2.0


def pasta_program() -> str:
    """Return the path of ``pasta``. Raises: MissingDependency with the fix."""
    found = shutil.which("pasta", path=_SEARCH)
    if found is None:
        raise MissingDependency(
            "resources.net is true and pasta is not installed. Fix: apt-get install passt (or resources.net: false)",
            detail={"fix": "apt-get install passt"},
        )
    return found


def program_inside(init_pid: int) -> int:
    """Return the host process id of the world's X server: pasta may not look at its init, which hides itself.

    Raises: WorldStartFailed when there is none for two seconds.
    """

    def inside() -> int | None:  # the kernel's list of children may lack some while others come and go
        return next((pid for pid in proc.children(init_pid) if proc.command_line(pid)[:1] == ["Xvnc"]), None)

    try:
        found = wait_until(inside, deadline=Deadline.after(_INSIDE_S), awaited="the world's X server", poll_s=0.01)
    except DeadlineExceeded as error:
        raise WorldStartFailed("the world has lost its X server before its network could be joined") from error
    assert found is not None
    return found


def pasta_argv(program: str, pid: int, *, as_root: bool) -> list[str]:
    """Return the command line that joins the network of the world in which ``pid`` is.

    No port is forwarded in either direction and the gateway is not mapped: without these options a world would reach
    what listens on the host's loopback. It does not watch for the end of the namespace, since we end it; newer ones
    may not open the place where they would.
    """
    argv = [program, "--foreground", "--quiet", "--config-net", "--no-map-gw", "--no-netns-quit"]
    argv += ["-t", "none", "-u", "none", "-T", "none", "-U", "none"]
    if as_root:
        argv += ["--runas", "0"]  # it drops to "nobody" otherwise, who may not enter the world's namespaces
    return [*argv, str(pid)]


def await_network(process: SupervisedProcess, init_pid: int, log: Path) -> None:
    """Wait until the world has a default route. Raises: WorldStartFailed with what pasta said."""

    def connected() -> bool:
        return process.returncode is not None or _has_route(init_pid)

    try:
        wait_until(connected, deadline=Deadline.after(_READY_S), awaited="the network of the world")
    except DeadlineExceeded as error:
        raise WorldStartFailed(f"{error}; pasta: {_said(log)}", detail={"log_tail": _said(log)}) from error
    if "tun socket" in _said(log):
        fix = "sudo chmod 0666 /dev/net/tun"
        raise MissingDependency(
            f"this user may not use /dev/net/tun, which a world's network needs. Fix: {fix} (or run as root, or set "
            f"resources.net to false)",
            detail={"fix": fix},
        )
    if not _has_route(init_pid):
        raise WorldStartFailed(f"the world got no network; pasta: {_said(log)}", detail={"log_tail": _said(log)})


def _has_route(init_pid: int) -> bool:
    net = Path("/proc", str(init_pid), "net")
    four = any(line.split()[1:2] == ["00000000"] for line in _lines(net / "route")[1:])
    return four or any(
        line.startswith("0" * 32 + " 00 ") and not line.endswith("lo") for line in _lines(net / "ipv6_route")
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _said(log: Path) -> str:
    lines = [line for line in _lines(log) if "syslog" not in line]
    return " / ".join(lines[-5:])
