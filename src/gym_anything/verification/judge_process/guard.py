"""The guard of one verdict: starts the verifier, and takes down all that it has started.

The guard holds one end of the *leash*. When the owner lets go of the other (a deadline, an abort, its own death), the
verifier and every process it started, however detached, are killed. It says how the verifier ended over the leash.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from typing import Any

from gym_anything.verification.judge_process import process_traits, verifier_process


def run(talk_fd: int, leash_fd: int, output_fd: int) -> int:
    """Guard one verdict; returns when the verifier and its descendants are gone."""
    os.setsid()
    process_traits.adopt_orphans()
    guard_pid = os.getpid()
    verifier = os.fork()
    if verifier == 0:
        code = 1
        try:
            os.close(leash_fd)
            process_traits.die_with_parent(guard_pid)
            code = verifier_process.run(socket.socket(fileno=talk_fd), output_fd)
        finally:
            _flush()
            os._exit(code)
    os.close(talk_fd)
    os.close(output_fd)
    with socket.socket(fileno=leash_fd) as leash:
        status = _wait(verifier, leash)
        process_traits.kill_children()
        if status is not None:
            _report(leash, status)
    return 0


def _wait(verifier: int, leash: socket.socket) -> int | None:
    """Return the verifier's wait status, or None when the owner let go first."""
    pidfd = os.pidfd_open(verifier)
    try:
        watched: list[Any] = [pidfd, leash]
        ready, _, _ = select.select(watched, [], [])
        if pidfd not in ready:
            return None
        return os.waitpid(verifier, 0)[1]
    finally:
        os.close(pidfd)


def _report(leash: socket.socket, status: int) -> None:
    try:
        leash.sendall(json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode())
    except OSError:
        pass  # the owner is gone: nobody wants to know


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # the verifier closed it, or nobody reads any more
