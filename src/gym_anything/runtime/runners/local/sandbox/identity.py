"""The ids of a world: which host ids its users 0..65535 really are."""

from __future__ import annotations

import os
import signal
import socket

from gym_anything.runtime.runners.local.sandbox import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:  # the launcher starts with as few imports as it can
    from collections.abc import Callable

    from gym_anything.runtime.runners.local.sandbox.plan import IdsPlan

COUNT = 65535
"""How many users a world has: one less than are granted, so that ``unshare --map-auto``, too, can map all of them."""
STRIDE = 65536
LAUNCHER_ID = 65536
"""The launcher's own host id inside the outer user namespace, one past the world's: no user of the world is it."""

# Above the ranges of /etc/login.defs and systemd-nspawn, below 2^31 where some programs see negative numbers.
_FIRST_BASE = 0x7000_0000
_SLOTS = 2048


class IdRange:
    """``COUNT`` host ids from ``base`` on; ``count`` is 1 where the host grants only the user's own id."""

    __slots__ = ("base_gid", "base_uid", "count", "how", "lock")

    def __init__(self, base_uid: int, base_gid: int, count: int, how: str, lock: socket.socket | None = None) -> None:
        """``how``: ``root`` (a private range), ``newuidmap`` (a granted one) or ``single`` (the user's own id)."""
        self.base_uid = base_uid
        self.base_gid = base_gid
        self.count = count
        self.how = how
        self.lock = lock

    def release(self) -> None:
        """Give the ids back; idempotent."""
        if self.lock is not None:
            self.lock.close()

    def plan(self) -> IdsPlan:
        """Return what the launcher needs to know."""
        return {"base_uid": self.base_uid, "base_gid": self.base_gid, "count": self.count, "how": self.how}


def choose_range() -> IdRange:
    """Return the ids for one new world, reserved until ``release`` or the end of this process."""
    how = kind_of_range()
    if how == "root":
        return _private_range()
    granted = _granted_bases() if how == "newuidmap" else None
    if granted is None:
        return IdRange(os.geteuid(), os.getegid(), 1, "single")
    return IdRange(*granted, COUNT, "newuidmap")


def kind_of_range() -> str:
    """Return ``how`` of the range that ``choose_range`` would give, and reserve nothing."""
    if os.geteuid() == 0 and _all_ids_are_ours():
        return "root"
    return "single" if _granted_bases() is None else "newuidmap"


def _all_ids_are_ours() -> bool:
    """Tell whether our own user namespace has the private ranges at all: root of a container may have few ids."""
    last = _FIRST_BASE + _SLOTS * STRIDE
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/self/{name}") as file:
            rows = [[int(word) for word in line.split()] for line in file]
        if not any(first <= _FIRST_BASE and first + count >= last for first, _, count in rows):
            return False
    return True


def _granted_bases() -> tuple[int, int] | None:
    """Return the first user and group id that the host grants this user for worlds, if both are granted."""
    uid = subordinate_base("/etc/subuid", os.geteuid())
    gid = subordinate_base("/etc/subgid", os.geteuid())
    if uid is None or gid is None or not all(map(_on_path, ("newuidmap", "newgidmap"))):
        return None
    return uid, gid


def _on_path(program: str) -> bool:
    return any(os.access(f"{folder}/{program}", os.X_OK) for folder in ("/usr/bin", "/bin", "/usr/local/bin"))


def _private_range() -> IdRange:
    """Reserve a free slot. An abstract socket is the lock: the kernel frees it however its owner ends."""
    for slot in range(_SLOTS):
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            lock.bind(f"\0gym-anything-ids-{slot}")
        except OSError:
            lock.close()
            continue
        base = _FIRST_BASE + slot * STRIDE
        return IdRange(base, base, COUNT, "root", lock)
    raise OSError(f"all {_SLOTS} private id ranges are taken")


def subordinate_base(path: str, uid: int) -> int | None:
    """Return the start of the first range of at least ``COUNT`` ids that ``/etc/subuid`` grants to this user."""
    import pwd

    names = {str(uid)}
    try:
        names.add(pwd.getpwuid(uid).pw_name)
    except KeyError:
        pass  # a user without an account entry is looked up by number alone
    try:
        with open(path) as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        owner, _, rest = line.partition(":")
        start, _, count = rest.partition(":")
        if owner in names and start.isdigit() and count.isdigit() and int(count) >= COUNT:
            return int(start)
    return None


def write_maps(pid: int, ids: IdRange) -> None:
    """Give the new user namespace of ``pid`` its ids, from outside."""
    if ids.how == "root":
        _write(pid, "uid_map", f"0 {ids.base_uid} {COUNT}\n{LAUNCHER_ID} {os.geteuid()} 1\n")
        _write(pid, "gid_map", f"0 {ids.base_gid} {COUNT}\n{LAUNCHER_ID} {os.getegid()} 1\n")
    elif ids.how == "newuidmap":
        for program, base, own in (
            ("newuidmap", ids.base_uid, os.geteuid()),
            ("newgidmap", ids.base_gid, os.getegid()),
        ):
            argv = [program, str(pid), "0", str(base), str(COUNT), str(LAUNCHER_ID), str(own), "1"]
            status = os.waitpid(os.posix_spawnp(program, argv, os.environ), 0)[1]
            if status != 0:
                raise OSError(f"{program} refused ids {base}..{base + COUNT - 1}")
    else:
        _write(pid, "setgroups", "deny")
        _write(pid, "uid_map", f"0 {ids.base_uid} 1\n")
        _write(pid, "gid_map", f"0 {ids.base_gid} 1\n")


def write_identity_maps(proc: str, count: int) -> None:
    """Map the inner namespace one to one onto the world's ids (without the launcher's)."""
    if count == 1:
        _write_path(f"{proc}/setgroups", "deny")
    _write_path(f"{proc}/uid_map", f"0 0 {count}\n")
    _write_path(f"{proc}/gid_map", f"0 0 {count}\n")


def _write(pid: int, name: str, text: str) -> None:
    _write_path(f"/proc/{pid}/{name}", text)


def _write_path(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def mapping_namespace(on_disk: int, in_world: int, count: int) -> int:
    """Return a user namespace for an id-mapped mount: ids from ``on_disk`` on appear as those from ``in_world`` on."""
    entered_r, entered_w = os.pipe2(os.O_CLOEXEC)

    def child() -> None:
        kernel.unshare(kernel.CLONE_NEWUSER)
        os.write(entered_w, b"1")
        signal.pause()

    pid = fork_running(child)
    os.close(entered_w)
    try:
        if os.read(entered_r, 1) != b"1":
            raise OSError("could not make a user namespace for an id-mapped mount")
        for name in ("uid_map", "gid_map"):
            _write(pid, name, f"{on_disk} {in_world} {count}\n")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(entered_r)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def fork_running(child: Callable[[], None]) -> int:
    """Fork, run ``child`` in the new process and end it there; return its pid here."""
    pid = os.fork()
    if pid:
        return pid
    try:
        child()
    finally:
        os._exit(1)
