"""TCP ports that are ours from the moment they are chosen: bound and kept, never picked and then hoped for."""

from __future__ import annotations

import socket

from gym_anything.errors import HostError


def bind_loopback(port: int = 0, *, listen: bool = False) -> socket.socket:
    """Return a TCP socket bound to 127.0.0.1. Keep it, or hand its descriptor to the program that will listen on it.

    Args:
        port: the wished port; 0 is any free one.
        listen: start to listen at once, so that no other socket can take the port even with ``SO_REUSEADDR``.
    Raises: HostError when the wished port is taken or not allowed.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        if port and listen:
            _reuse(sock)
        sock.bind(("127.0.0.1", port))
        if listen:
            _reuse(sock)  # for the next listener on this port; for any free port only now, or two of us may get one
            sock.listen(128)
    except (OSError, OverflowError) as error:
        sock.close()
        raise HostError(f"port {port} on 127.0.0.1 cannot be had: {error}", detail={"port": port}) from error
    except BaseException:
        sock.close()
        raise
    return sock


def bind_loopback_or_any(port: int, *, listen: bool = False) -> tuple[socket.socket, bool]:
    """Bind the wished port, or any free one when it is taken; tell whether it is the wished one."""
    try:
        return bind_loopback(port, listen=listen), True
    except HostError:
        return bind_loopback(0, listen=listen), False


def _reuse(sock: socket.socket) -> None:
    """Let a closed connection of an earlier listener not make the port look taken."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def port_of(sock: socket.socket) -> int:
    """Return the port a TCP socket is bound to."""
    port = sock.getsockname()[1]
    assert isinstance(port, int)
    return port
