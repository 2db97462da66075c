"""The first process of a supervisor: it forks the one that works and cleans up after it, however that one dies.

    owner ── warden ── supervisor ── programs

Warden and supervisor both adopt orphans. Whichever two of owner, warden and supervisor are killed at once, the third
notices and kills everything. If all three are, the kernel kills the programs themselves (parent-death signal).
"""

from __future__ import annotations

import _socket
import os
import resource
import select
import signal
import sys

from gym_anything._util.supervision import kernel, process_tree
from gym_anything._util.supervision.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

ASKED = 0
"""The supervisor's exit code when its owner asked for the end, and so lives."""
OWNER_DYING_MS = 1500
SUPERVISOR_LEFT_MS = 15_000
"""How long a supervisor may take to end everything after its owner has died, before the warden ends it."""


def main(owner: int, socket_fd: int, token: str, run_folder: str) -> NoReturn:
    """Run as the warden.

    Args:
        owner: the process to live for.
        token: marks this supervisor's programs.
        run_folder: what to remove with all that is in it when the owner has died without doing so.
    """
    _leave_the_terminal()
    os.set_inheritable(socket_fd, False)
    kernel.adopt_orphans()
    try:
        owner_pidfd = os.pidfd_open(owner)
    except ProcessLookupError:
        os._exit(0)
    if os.getppid() != owner:  # it died before we could look
        os._exit(0)
    warden = os.getpid()
    supervisor = os.fork()
    if supervisor == 0:
        _supervise(warden, owner_pidfd, socket_fd, token, run_folder)
    os.close(socket_fd)
    asked = _guard(supervisor, owner_pidfd) == ASKED
    _remove_leftovers(owner_pidfd, run_folder, 0 if asked else OWNER_DYING_MS)
    os._exit(0)


def _supervise(warden: int, owner_pidfd: int, socket_fd: int, token: str, run_folder: str) -> NoReturn:
    try:
        warden_pidfd = os.pidfd_open(warden)
        if os.getppid() == warden:
            os.setsid()
            kernel.adopt_orphans()
            sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, socket_fd)
            sock.setblocking(False)
            asked = Server(sock, [owner_pidfd, warden_pidfd], token.encode("ascii"), _raise_nofile()).run()
            if asked:
                os._exit(ASKED)
            if os.getppid() != warden:  # it was killed: its last duty is ours
                _remove_leftovers(owner_pidfd, run_folder, OWNER_DYING_MS)
    except BaseException:  # noqa: BLE001 - the boundary of the process: the trace goes to its log, the warden cleans up
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def _guard(supervisor: int, owner_pidfd: int) -> int:
    """Wait for the supervisor's end, clean up after it and return its exit code (negative: the signal)."""
    pidfd = os.pidfd_open(supervisor)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(owner_pidfd, select.POLLIN)
    ended = [fd for fd, _ in poll.poll()]
    if pidfd not in ended:
        poll.unregister(owner_pidfd)
        if not poll.poll(SUPERVISOR_LEFT_MS):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(supervisor, 0)[1])
    _kill_all_adopted()
    return code


def _kill_all_adopted() -> None:
    """Kill and reap until nothing is left; what hangs in the kernel is left to it after a while."""
    nothing = select.poll()
    for _ in range(1000):
        left = process_tree.with_descendants(process_tree.children(os.getpid()))
        if not left:
            return
        for pid in left:
            stat = process_tree.stat_of(pid)
            if stat is not None:
                process_tree.send_to(pid, stat.start_ticks, signal.SIGKILL)
        nothing.poll(5)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass  # nothing left to reap


def _remove_leftovers(owner_pidfd: int, run_folder: str, wait_ms: int) -> None:
    """Do what a dead owner cannot. One that is dying closes its descriptors some time before it is dead."""
    poll = select.poll()
    poll.register(owner_pidfd, select.POLLIN)
    if not poll.poll(wait_ms):
        return  # the owner lives and does it itself
    from pathlib import Path  # slow to import, and not needed until now

    from gym_anything._util import orphans

    run = Path(run_folder)
    orphans.collect(run.parent, only_run=run.name)


def _leave_the_terminal() -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)


def _raise_nofile() -> tuple[int, int]:
    """Allow ourselves as many open files as we may have; return the limits as they were, for the programs."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    return before
