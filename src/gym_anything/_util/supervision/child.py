"""Starting one program: fork, set up, exec. Called in the supervisor's only thread, so the fork is safe."""

from __future__ import annotations

import fcntl
import os
import resource
import signal

from gym_anything._util.supervision import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_DEFAULT_AGAIN = (
    signal.SIGPIPE,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGQUIT,
    signal.SIGTSTP,
    signal.SIGCHLD,
    signal.SIGXFSZ,
)


def fork_and_exec(
    program: bytes,
    argv: list[bytes],
    env: dict[bytes, bytes],
    cwd: bytes,
    fds: dict[int, int],
    nofile: tuple[int, int],
    nice: int,
) -> tuple[int, int]:
    """Start a program as the leader of a session of its own that dies with us.

    Args:
        program: its path; the first item of ``argv`` is only what it is called.
        fds: child's descriptor -> ours; 0, 1 and 2 are the null device unless named, all others are closed.
        nofile: the limit of open files to give it. nice: how far it steps back for a processor, beyond us.
    Returns: (pid, a pipe that ends when the program runs, or else tells why not; see ``failure_of``).
    """
    told, tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(told)
        os.close(tell)
        raise
    if pid == 0:
        _become(program, argv, env, cwd, fds, nofile, nice, tell, parent)
    os.close(tell)
    return pid, told


def failure_of(report: bytes) -> tuple[int, str] | None:
    """Read what came through the pipe: (errno, step), or ``None`` when the program runs."""
    if not report:
        return None
    number, _, step = report.partition(b" ")
    return int(number), step.decode("ascii")


def _become(
    program: bytes,
    argv: list[bytes],
    env: dict[bytes, bytes],
    cwd: bytes,
    fds: dict[int, int],
    nofile: tuple[int, int],
    nice: int,
    tell: int,
    parent: int,
) -> NoReturn:
    step = "setup"
    try:
        os.setsid()
        os.nice(nice)
        kernel.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the line above
            os._exit(127)
        for number in _DEFAULT_AGAIN:
            signal.signal(number, signal.SIG_DFL)
        step = "descriptors"
        tell = _place(fds, tell)
        resource.setrlimit(resource.RLIMIT_NOFILE, nofile)
        step = "cwd"
        os.chdir(cwd)
        step = "exec"
        os.execve(program, argv, env)
    except OSError as error:
        os.write(tell, f"{error.errno} {step}".encode("ascii"))
    finally:  # whatever happens, this copy of the supervisor must not go on
        os._exit(127)


def _place(fds: dict[int, int], tell: int) -> int:
    """Move our descriptors to the child's numbers; first out of the way, since numbers may overlap."""
    above = max([2, *fds]) + 1
    tell = fcntl.fcntl(tell, fcntl.F_DUPFD_CLOEXEC, above)
    moved = {target: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, above) for target, source in fds.items()}
    for target, source in moved.items():
        os.dup2(source, target, inheritable=True)
    return tell
