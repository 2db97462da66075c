"""The launcher: one short-lived process that builds a sandbox and turns into its waiting parent.

``main([PLAN, READY_FD, TOKEN_FD])`` under ``python -I -S``. It prints one JSON line on ``READY_FD`` (``{"pid",
"base_uid", …}`` or ``{"error", "fix"}``), then waits for the world and ends with it; killing it ends the world.

Two user namespaces: all mounts are made in the outer one; the world lives in the inner one, whose copies of these
mounts are locked (no remount, no unmount), and where the launcher's own host id does not exist.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from gym_anything.runtime.runners.local.sandbox import identity, inside, kernel, rootfs
from gym_anything.runtime.runners.local.sandbox.refusals import Refusal, attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gym_anything.runtime.runners.local.sandbox.plan import SandboxPlan

GUEST_SOCKET = "guest.sock"
DESKTOP_SOCKET = "desktop.sock"
INIT_COPY = "ga-guest"
"""In the folder of a generation: the program of the world's init, which nobody in the world may read.

The kernel then lets nobody in the world trace it or touch its memory: ``gdb -p 1`` would lock the host out. The world
must not own the file, so it is a copy that belongs to the launcher's own id, which the world does not have.
"""


def main(argv: list[str]) -> int:
    """Build, report, wait."""
    plan_path, ready_fd, token_fd = argv[0], int(argv[1]), int(argv[2])
    for fd in (ready_fd, token_fd):
        os.set_inheritable(fd, False)
    with open(plan_path) as file:
        plan: SandboxPlan = json.load(file)
    try:
        pid, ids = build(plan, ready_fd, token_fd)
    except (OSError, Refusal) as error:
        fix = getattr(error, "fix", "")
        report(ready_fd, {"error": str(error), "fix": fix})
        return 1
    report(ready_fd, {"pid": pid, "base_uid": ids.base_uid, "id_count": ids.count, "ids": ids.how})
    os.close(ready_fd)
    os.execv(plan["waiter"], [plan["waiter"], str(pid)])


def report(fd: int, facts: dict[str, object]) -> None:
    """Write one line for the runner."""
    os.write(fd, json.dumps(facts).encode() + b"\n")


def build(plan: SandboxPlan, ready_fd: int, token_fd: int) -> tuple[int, identity.IdRange]:
    """Make the namespaces and mounts and start the world's init; return its host pid and the ids."""
    for procs in plan["cgroups"]:
        with open(procs, "w") as file:
            file.write("0")
    os.chdir(plan["world_dir"])
    for name in ("upper", f"gen{plan['generation']}"):
        os.makedirs(name, mode=0o700, exist_ok=True)
    if plan["init_source"]:
        _copy_unreadable(plan["init_source"], f"gen{plan['generation']}/{INIT_COPY}")
    ids = identity.IdRange(**plan["ids"])
    fds = open_descriptors(ready_fd, token_fd)
    privileged = ids.how == "root"
    if privileged:
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    trees = rootfs.clone_sources(plan, ids) if privileged else None
    return _fork_world(plan, ids, trees, fds), ids


def open_descriptors(ready_fd: int, token_fd: int) -> inside.WorldFds:
    """Read the token and open what crosses into the world; sockets and logs lie in the working directory."""
    token = os.read(token_fd, 256)
    os.close(token_fd)
    return inside.WorldFds(
        ready=ready_fd,
        guest=_listen(GUEST_SOCKET),
        guest_token=_filled_pipe(token),
        desktop=_listen(DESKTOP_SOCKET),
        desktop_token=_filled_pipe(token),
        logs={name: _open_log(name) for name in inside.LOGS},
    )


def _fork_world(plan: SandboxPlan, ids: identity.IdRange, trees: rootfs.Trees | None, fds: inside.WorldFds) -> int:
    """Fork the builder into the outer namespaces, map its ids, and collect the pid of the init it leaves to us."""
    entered_r, entered_w = os.pipe2(os.O_CLOEXEC)
    mapped_r, mapped_w = os.pipe2(os.O_CLOEXEC)
    done_r, done_w = os.pipe2(os.O_CLOEXEC)

    def builder() -> None:
        _stay_within_pipe(done_w, lambda: _build_outer(plan, ids, trees, fds, entered_w, mapped_r, done_w))

    child = identity.fork_running(builder)
    for fd in (entered_w, mapped_r, done_w, *fds.for_the_world()):
        os.close(fd)
    if os.read(entered_r, 1) == b"1":
        attempt("ids", lambda: identity.write_maps(child, ids))
        os.write(mapped_w, b"1")
    os.close(mapped_w)
    answer = b""
    while chunk := os.read(done_r, 65536):
        answer += chunk
    os.waitpid(child, 0)
    facts: dict[str, object] = {}
    for line in answer.splitlines():
        facts.update(json.loads(line))
    if "error" in facts or "pid" not in facts:
        raise Refusal(str(facts.get("error", "the sandbox builder died")), str(facts.get("fix", "")))
    return int(str(facts["pid"]))


def _stay_within_pipe(fd: int, work: Callable[[], None]) -> None:
    """Run ``work``; what it raises goes to the parent as one JSON line."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - the boundary of a forked child: its only way out is this pipe
        report(fd, {"error": f"{error}", "fix": getattr(error, "fix", "")})
    os._exit(0)


def _build_outer(
    plan: SandboxPlan,
    ids: identity.IdRange,
    trees: rootfs.Trees | None,
    fds: inside.WorldFds,
    entered_w: int,
    mapped_r: int,
    done_w: int,
) -> None:
    attempt("user namespace", lambda: kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS))
    os.write(entered_w, b"1")
    if os.read(mapped_r, 1) != b"1":
        raise Refusal("the ids of the sandbox could not be mapped")
    if ids.count > 1:
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.umask(0o022)
    kernel.set_dumpable()
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_SLAVE)
    rootfs.build(plan, ids, trees if trees is not None else rootfs.clone_sources(plan, ids))
    kernel.unshare(kernel.CLONE_NEWPID)
    go_r, go_w = os.pipe2(os.O_CLOEXEC)
    ok_r, ok_w = os.pipe2(os.O_CLOEXEC)
    pid = kernel.fork_sibling()
    if pid == 0:
        _stay_within_pipe(done_w, lambda: inside.become_init(plan, ids.count, fds, ok_w, go_r, done_w))
    os.close(ok_w)
    if os.read(ok_r, 1) == b"1":
        identity.write_identity_maps("/proc/1", ids.count)  # its root is ours by now, so is its /proc
        os.write(go_w, b"1")
        report(done_w, {"pid": pid})


def _copy_unreadable(source: str, copy: str) -> None:
    with open(source, "rb") as program, open(copy, "wb") as target:
        target.write(program.read())
    os.chmod(copy, 0o711)


def _listen(name: str) -> int:
    """Bind a socket in the world's folder, which the world itself does not see."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.path.lexists(name):
        os.unlink(name)  # of an earlier launch in the same folder
    listener.bind(name)
    listener.listen(16)
    return listener.detach()


def _filled_pipe(content: bytes) -> int:
    """Return the reading end of a pipe that holds ``content`` and then ends."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    os.write(write_end, content)
    os.close(write_end)
    return read_end


def _open_log(name: str) -> int:
    """Open a log file outside the world: programs in it write there by inheritance and cannot read or replace it."""
    os.makedirs("log", mode=0o700, exist_ok=True)
    return os.open(f"log/{name}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


if TYPE_CHECKING:
    from collections.abc import Callable

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
