"""Unshare every kind of namespace that a sandbox is made of, and mount in them what a sandbox mounts.

Prints ``{kind: ""}`` for what works and ``{kind: reason}`` for what does not. Ordinary users go through a user
namespace first, as a sandbox does; so does root, whose worlds have one as well.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
OTHERS = {"mount": NEWNS, "pid": NEWPID, "network": NEWNET, "ipc": NEWIPC, "uts": NEWUTS}
libc = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    """Raise what the C library left in errno."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def become_root_of_a_namespace() -> None:
    """Enter a new user namespace with ourselves as its root, the one map that needs no help."""
    uid, gid = os.geteuid(), os.getegid()
    check(libc.unshare(NEWUSER))
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"0 {uid} 1")
    write("/proc/self/gid_map", f"0 {gid} 1")


def write(path: str, text: str) -> None:
    """Write a file of the kernel's."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def mount(source: str, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    """Call mount(2)."""
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    check(libc.mount(*words, ctypes.c_ulong(flags), None if data is None else data.encode()))


def try_mounts(results: dict[str, str]) -> None:
    """In our own mount namespace: a tmpfs, an overlay on it, and /proc of a new process namespace."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    attempt(results, "mount:tmpfs", lambda: mount("tmpfs", "/tmp", "tmpfs"))
    for name in ("low", "up", "work", "all"):
        os.makedirs(f"/tmp/{name}", exist_ok=True)  # on our own tmpfs  # noqa: PTH103 - a bare interpreter
    if not results["mount:tmpfs"]:
        options = "lowerdir=/tmp/low,upperdir=/tmp/up,workdir=/tmp/work,userxattr"
        attempt(results, "mount:overlay", lambda: mount("overlay", "/tmp/all", "overlay", 0, options))
    if not results["pid"]:
        attempt(results, "mount:proc", mount_proc_as_first_process)


def mount_proc_as_first_process() -> None:
    """The first child after unsharing the process namespace is its init, and may mount its /proc."""
    pid = os.fork()
    if pid == 0:
        try:
            mount("proc", "/proc", "proc")
            os._exit(0 if os.readlink("/proc/self") == "1" else 1)  # noqa: PTH115 - a bare interpreter
        except OSError as error:
            os._exit(error.errno or 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise OSError(status, os.strerror(status))


def attempt(results: dict[str, str], name: str, act: object) -> None:
    """Do it and note how it went."""
    try:
        act()  # type: ignore[operator]
        results[name] = ""
    except OSError as error:
        results[name] = f"{error.strerror} (errno {error.errno})"


def main() -> None:
    """Try everything."""
    results: dict[str, str] = {}
    attempt(results, "user", become_root_of_a_namespace)
    if not results["user"] or os.geteuid() == 0:
        for name, flag in OTHERS.items():
            attempt(results, name, lambda flag=flag: check(libc.unshare(flag)))
        if not results["mount"]:
            attempt(results, "mount:private", lambda: try_mounts(results))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
    sys.exit(0)
