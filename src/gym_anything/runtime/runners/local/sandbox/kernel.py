"""The few kernel calls the sandbox is built with, which the Python library lacks (``os.unshare`` comes with 3.12)."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_PARENT = 0x00008000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_OPEN_TREE = 428
_SYS_MOVE_MOUNT = 429
_SYS_MOUNT_SETATTR = 442
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_RDONLY = 0x1
_MOUNT_ATTR_NOSUID = 0x2
_MOUNT_ATTR_NODEV = 0x4
_MOUNT_ATTR_IDMAP = 0x00100000

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> int:
    """Return the result of a call, or raise ``OSError`` that names it."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result


def _syscall_number(table: dict[str, int]) -> int:
    machine = os.uname().machine
    if machine not in table:
        raise OSError(f"the sandbox does not know the system call numbers of {machine}")
    return table[machine]


def call(name: str, number: int, *arguments: int) -> int:
    """Make a system call by its number; ``OSError`` names it."""
    return _check(_libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)), name)


def unshare(flags: int) -> None:
    """Move this process into new namespaces (a new PID namespace: its next child)."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def mount(source: str, target: str, fstype: str | None, flags: int = 0, data: str = "") -> None:
    """Mount; ``OSError`` names source and target."""
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), fstype and fstype.encode(), ctypes.c_ulong(flags), os.fsencode(data)
    )
    _check(result, f"mount({source} on {target}, {fstype}, {flags:#x}, {data})")


def detach(target: str) -> None:
    """Unmount lazily."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount({target})")


def pivot_root(new_root: str, put_old: str) -> None:
    """Make ``new_root`` the root of this mount namespace."""
    number = _syscall_number(_SYS_PIVOT_ROOT)
    result = _libc.syscall(ctypes.c_long(number), os.fsencode(new_root), os.fsencode(put_old))
    _check(result, f"pivot_root({new_root})")


def sethostname(name: str) -> None:
    """Set the host name of this UTS namespace."""
    raw = name.encode()
    _check(_libc.sethostname(raw, ctypes.c_size_t(len(raw))), "sethostname")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies; changes of identity forget it, so call it last."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl(PDEATHSIG)")


def set_dumpable() -> None:
    """Let the parent write ``/proc/<pid>/uid_map`` of this process after a change of identity."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(DUMPABLE)")


def fork_sibling() -> int:
    """Fork a child whose parent is *our* parent (``CLONE_PARENT``); 0 in the child. Never in a threaded process."""
    number = _syscall_number(_SYS_CLONE)
    zero = ctypes.c_long(0)
    result = _libc.syscall(ctypes.c_long(number), ctypes.c_long(CLONE_PARENT | signal.SIGCHLD), zero, zero, zero, zero)
    return _check(result, "clone(CLONE_PARENT)")


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def clone_mount(
    path: str, *, writable: bool = False, devices: bool = False, recursive: bool = True, userns_fd: int | None = None
) -> int:
    """Return a detached copy of what is mounted at ``path``: no set-uid; no devices, read-only unless asked.

    ``userns_fd`` maps its ids (only real root may ask, and not every file system can).
    """
    depth = _AT_RECURSIVE if recursive else 0
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC | depth)
    at_cwd = ctypes.c_long(-100)
    tree = _check(_libc.syscall(ctypes.c_long(_SYS_OPEN_TREE), at_cwd, os.fsencode(path), flags), f"open_tree({path})")
    attr = _MountAttr(attr_set=_MOUNT_ATTR_NOSUID)
    attr.attr_set |= 0 if devices else _MOUNT_ATTR_NODEV
    attr.attr_set |= 0 if writable else _MOUNT_ATTR_RDONLY
    if userns_fd is not None:
        attr.attr_set |= _MOUNT_ATTR_IDMAP
        attr.userns_fd = userns_fd
    flags = ctypes.c_uint(_AT_EMPTY_PATH | depth)
    size = ctypes.c_size_t(ctypes.sizeof(attr))
    number = ctypes.c_long(_SYS_MOUNT_SETATTR)
    try:
        _check(
            _libc.syscall(number, ctypes.c_long(tree), b"", flags, ctypes.byref(attr), size), f"mount_setattr({path})"
        )
    except OSError:
        os.close(tree)
        raise
    return tree


def attach_mount(tree_fd: int, target: str) -> None:
    """Attach a detached mount at ``target`` (relative to the working directory, or absolute)."""
    at_cwd, number = ctypes.c_long(-100), ctypes.c_long(_SYS_MOVE_MOUNT)
    flags = ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
    result = _libc.syscall(number, ctypes.c_long(tree_fd), b"", at_cwd, os.fsencode(target), flags)
    _check(result, f"move_mount({target})")


def bring_loopback_up() -> None:
    """Set the loopback interface of this network namespace up."""
    siocgifflags, siocsifflags, iff_up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack_from("H", fcntl.ioctl(probe, siocgifflags, request), 16)[0]
        fcntl.ioctl(probe, siocsifflags, struct.pack("16sH22x", b"lo", flags | iff_up))
