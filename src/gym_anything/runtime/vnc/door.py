"""VNC to a world for people: a port on the host's loopback, with a password."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from gym_anything._util.ports import bind_loopback_or_any, port_of
from gym_anything._util.python_program import python_argv
from gym_anything._util.supervised_process import SupervisedProcess
from gym_anything.specs.access import Vnc

_MODULE = "gym_anything.runtime.vnc.forward"
Spawn = Callable[..., SupervisedProcess]
_LISTEN_FD, _PASSWORD_FD = 3, 4


@dataclass(frozen=True)
class VncDoor:
    """An open door.

    Attributes:
        port: on the host's loopback.
        moved_from: the port that was asked for, when another process had it.
    """

    port: int
    password: str = field(repr=False)
    process: SupervisedProcess
    moved_from: int | None = None

    @property
    def url(self) -> str:
        """Where a viewer connects to; the password is not part of it."""
        return f"vnc://127.0.0.1:{self.port}"


def open_door(vnc: Vnc, server: tuple[str, str], spawn: Spawn, log_fd: int) -> VncDoor:
    """Bind the port, keep it bound, and start the forwarder on it.

    Args: server: folder of the host and path below it, where the world's X server serves VNC.
    """
    listener, is_wished = bind_loopback_or_any(max(vnc.host_port, 0), listen=True)
    moved_from = None if is_wished else vnc.host_port
    password = vnc.password or secrets.token_urlsafe(6)[:8]
    password_r, password_w = os.pipe2(os.O_CLOEXEC)
    try:
        os.write(password_w, password.encode())
        os.close(password_w)
        words = [str(_LISTEN_FD), str(_PASSWORD_FD), *server]
        process = spawn(
            python_argv(_MODULE, words),
            name="VNC forwarder",
            stderr=log_fd,
            pass_fds={_LISTEN_FD: listener.fileno(), _PASSWORD_FD: password_r},
        )
        return VncDoor(port_of(listener), password, process, moved_from)
    finally:
        os.close(password_r)
        listener.close()
