"""The nursery: a process that has everything loaded that an episode needs, and forks one for each.

It runs nobody's code itself: what an agent or a runner imports, leaks or breaks stays in the fork. Each episode has a
guard beside it, its parent: when the owner wishes, or lets go of the *leash* because it died, the guard ends the
episode and all that it has started, asking first. A guard dies with the nursery, an episode with its guard; the nursery
stays until the last of them has ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from gym_anything.verification.judge_process import process_traits
from gym_anything.verification.judge_process.server import serve

DESCRIPTORS = 4
"""Of each episode: the socket to talk over, the leash, where it prints, the judge server's socket."""
ASK = b"T"
GRACE_S = 15.0
"""Between being asked to end and being killed."""


def run(talk_fd: int, leash_fd: int, output_fd: int, judge_fd: int) -> int:
    """Guard one episode; returns when it and all that it started are gone."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # who ends the whole tree asks the episode, too
    process_traits.adopt_orphans()
    guard = os.getpid()
    episode = os.fork()
    if episode == 0:
        try:
            os.close(leash_fd)
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            process_traits.die_with_parent(guard)
            _become_an_episode(talk_fd, output_fd, judge_fd)
        finally:
            os._exit(1)  # it ends by itself; whatever happens, this copy of the guard must not go on
    for fd in (talk_fd, output_fd, judge_fd):
        os.close(fd)
    with socket.socket(fileno=leash_fd) as leash:
        status = _await_end(episode, leash)
        _end_children()
        try:
            leash.sendall(json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode())
        except OSError:
            pass  # the owner is gone: nobody wants to know
    return 0


def _become_an_episode(talk_fd: int, output_fd: int, judge_fd: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((null, 0), (output_fd, 1), (output_fd, 2)):
        os.dup2(ours, theirs)
    for fd in {null, output_fd}:
        if fd > 2:
            os.close(fd)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    gc.unfreeze()
    import numpy as np

    np.random.seed(int.from_bytes(os.urandom(4), "little"))  # or every fork would draw the same numbers
    from gym_anything.benchmark.worker import main as play
    from gym_anything.verification.fork_server import ForkServer

    ForkServer.adopt(socket.socket(fileno=judge_fd))
    play(talk_fd)


def _await_end(episode: int, leash: socket.socket) -> int:
    """Wait for the episode's end, asking it to end and killing it when the owner wishes; returns its wait status."""
    pidfd = os.pidfd_open(episode)
    kill_at: float | None = None
    watched: list[Any] = [pidfd, leash]
    try:
        while True:
            left_s = None if kill_at is None else max(0.0, kill_at - time.monotonic())
            ready, _, _ = select.select(watched, [], [], left_s)
            if pidfd in ready:
                return os.waitpid(episode, 0)[1]
            if leash in ready:
                kill_at = time.monotonic() + GRACE_S
                os.kill(episode, signal.SIGTERM)
                os.kill(episode, signal.SIGCONT)  # one that stands still could not give up
                watched = [pidfd]
            elif kill_at is not None and time.monotonic() >= kill_at:
                os.kill(episode, signal.SIGKILL)
                kill_at = None
    finally:
        os.close(pidfd)


def _end_children() -> None:
    """Ask all that is left to end, then kill it; what was started by it comes to us as its parents end."""
    kill_at = time.monotonic() + GRACE_S
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    asked: set[int] = set()
    while time.monotonic() < kill_at and (children := process_traits.children()):
        for pid in set(children) - asked:
            asked.add(pid)
            os.kill(pid, signal.SIGTERM)  # a child of ours is there until we reap it
        if os.waitpid(-1, os.WNOHANG) == (0, 0):
            signal.sigtimedwait({signal.SIGCHLD}, 0.2)
    process_traits.kill_children()


def main() -> None:
    """Load what an episode needs, then serve.

    Arguments: the owner's import path as JSON, modules to load beside, and last the descriptor to serve on.
    """
    sys.path[:] = json.loads(sys.argv[1])
    import numpy  # noqa: F401 - these are loaded for their own sake

    import gym_anything.benchmark.play
    import gym_anything.benchmark.worker
    import gym_anything.verification.program  # noqa: F401
    from gym_anything.agents.registry import AGENTS
    from gym_anything.runtime.runners.registry import RUNNERS

    for name in sys.argv[2:-1]:
        importlib.import_module(name)
    for registry in (AGENTS, RUNNERS):
        registry.keys()  # reads what all distributions have to offer, once for all episodes
    gc.collect()
    gc.freeze()  # forks share these pages for as long as nobody touches them
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends when its owner closes the socket
    serve(socket.socket(fileno=int(sys.argv[-1])), run, DESCRIPTORS)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
