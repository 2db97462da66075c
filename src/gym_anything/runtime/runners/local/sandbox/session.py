"""Brings the desktop of a world up: X server, window manager, panel, wallpaper, session bus, desktop service.

Runs once in a process inside the world (or on the host for an explicit world without a sandbox), tells on a pipe how
far it is, and ends when the desktop is ready; what it started lives on under the world's init.
"""

from __future__ import annotations

import json
import os
import select
import time

from gym_anything.runtime.session import ready, x_wire
from gym_anything.runtime.session.keep_up import kept_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gym_anything.runtime.session.plan import SessionPlan


def run(plan: SessionPlan, logs: Mapping[str, int], service_fds: Sequence[int], report_fd: int) -> None:
    """Start everything, wait until it is usable, say so.

    Args:
        logs: open log files by name: ``server``, ``session``, ``desktop``.
        service_fds: descriptors ``ga-desktop`` inherits, in the order its argv names them (``@0``, ``@1``).
    """
    began = time.monotonic()
    until = began + plan["wait_s"]

    def tell(stage: str, **facts: object) -> None:
        os.write(report_fd, json.dumps({"stage": stage, "after_s": time.monotonic() - began, **facts}).encode() + b"\n")

    try:
        _prepare(plan)
        for argv in plan["early"]:
            _spawn(argv, plan, logs["session"])
        server, display = _start_server(plan, logs["server"], until)
        plan["env"]["DISPLAY"] = f":{display}"
        if plan["desktop_argv"]:
            words = {f"@{i}": str(fd) for i, fd in enumerate(service_fds)} | {"@display": f":{display}"}
            argv = [words.get(word, word) for word in plan["desktop_argv"]]
            _spawn(argv, plan, logs["desktop"], keep=service_fds)
        cookie = _cookie(plan["env"].get("XAUTHORITY", ""))
        place = f"/tmp/.X11-unix/X{display}"
        wire = x_wire.connect(place, until, lambda: os.waitpid(server, os.WNOHANG)[0] != 0, cookie)
        tell("server", display=display)
        if plan["gradient"]:
            wire.paint_root(plan["gradient"], plan["size"][1])
        painters = [_spawn(plan["wallpaper"], plan, logs["session"])] if plan["wallpaper"] else []
        if plan["window_manager"]:
            _spawn(kept_up(plan["window_manager"]), plan, logs["session"])
            probe = ready.await_window_manager(wire, until)
            tell("window-manager")
            # Only now: a panel started beside its window manager waits a second for it.
            if plan["panel"]:
                _spawn(kept_up(plan["panel"]), plan, logs["session"])
            ready.await_clients(wire, probe, until, panel=bool(plan["panel"]))
        for pid in painters:
            if os.waitpid(pid, 0)[1] != 0:
                raise OSError(f"the wallpaper could not be shown by {plan['wallpaper'][0]}")
        wire.sync()
        wire.close()
        tell("ready")
    except OSError as error:
        tell("failed", error=str(error))


def _start_server(plan: SessionPlan, log_fd: int, until: float) -> tuple[int, int]:
    """Start the X server; return its pid and the number of its display, which it may choose itself."""
    if plan["display"] >= 0:
        return _spawn(plan["server_argv"], plan, log_fd), plan["display"]
    number_r, number_w = os.pipe()
    argv = [str(number_w) if word == "@display" else word for word in plan["server_argv"]]
    pid = _spawn(argv, plan, log_fd, keep=(number_w,))
    os.close(number_w)
    number = b""
    try:
        while not number.endswith(b"\n"):  # it comes in two pieces, and a server that cannot write it ends
            left = max(0.0, until - time.monotonic())
            piece = os.read(number_r, 16) if select.select([number_r], [], [], left)[0] else b""
            if not piece:
                break
            number += piece
    finally:
        os.close(number_r)
    if not number.strip().isdigit():
        raise OSError("the X server found no display for itself")
    return pid, int(number)


def _cookie(path: str) -> bytes:
    """Return the key in an X authority file that we wrote: the last 16 bytes of its one entry."""
    if not path:
        return b""
    with open(path, "rb") as file:
        return file.read()[-16:]


def _prepare(plan: SessionPlan) -> None:
    """Remove what an earlier life of this file system left (a lock of nobody alive), make the run-time folder."""
    for folder, prefix, suffix in plan["stale_locks"]:
        for name in os.listdir(folder):
            if name.startswith(prefix) and name.endswith(suffix):
                os.unlink(f"{folder}/{name}")
    runtime = plan["env"]["XDG_RUNTIME_DIR"]
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    if os.geteuid() == 0:
        os.chown(runtime, *plan["user"])


def _spawn(argv: Sequence[str], plan: SessionPlan, log_fd: int, keep: Sequence[int] = ()) -> int:
    """Start a program as the desktop's user, in its own session, and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        uid, gid = plan["user"]
        if os.geteuid() == 0 and plan["switch_user"]:
            os.setgroups(plan["groups"])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        for fd in keep:
            os.set_inheritable(fd, True)
        os.chdir(plan["home"])
        os.execvpe(argv[0], list(argv), plan["env"])
    except OSError as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
    finally:
        os._exit(127)


if TYPE_CHECKING:
    from typing import Protocol

    class Tell(Protocol):
        """Reports a stage with facts."""

        def __call__(self, stage: str, **facts: object) -> None: ...
