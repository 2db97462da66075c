"""The fork server: one small single-threaded process that forks a guard for each verdict.

It never runs anybody's code itself, so each verdict starts from the same clean interpreter: modules of two tasks with
the same name cannot meet. It ends when its owner closes the control socket, however the owner ends.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from gym_anything.verification.judge_process import guard, process_traits

_READY = b"R"


def serve(control: socket.socket, run: Callable[..., int] = guard.run, descriptors: int = 3) -> None:
    """Fork a guard for every message on ``control``: one byte with descriptors, for a verdict talk, leash and output.

    Args: run: what the forked process does, given the descriptors; returns its exit code.
    """
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C of a terminal is for the owner to handle
    control.sendall(_READY)
    while True:
        watched: list[Any] = [control, wake_read]
        ready, _, _ = select.select(watched, [], [])
        if wake_read in ready:
            _drain(wake_read)
            _reap()
        if control in ready:
            data, fds, _flags, _address = socket.recv_fds(control, 1, descriptors)
            if not data:
                return
            for fd in fds:
                os.set_inheritable(fd, False)
            _fork_guard(run, control, fds, (wake_read, wake_write))


def _fork_guard(run: Callable[..., int], control: socket.socket, fds: list[int], wake: tuple[int, int]) -> None:
    server_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            for fd in wake:
                os.close(fd)
            process_traits.die_with_parent(server_pid)
            code = run(*fds)
        finally:
            os._exit(code)
    for fd in fds:
        os.close(fd)


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 512):
            pass
    except BlockingIOError:
        pass


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def main() -> None:
    """Serve on the inherited descriptor given as the only argument."""
    serve(socket.socket(fileno=int(sys.argv[-1])))


if __name__ == "__main__":
    main()
