"""Folders, locks, sockets, shared memory, reflinks, and what killed runs have left."""

from __future__ import annotations

import mmap
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from gym_anything._util import orphans, ports, reflink
from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.state_dir import Run, state_root
from gym_anything._util.supervisor import Supervisor
from gym_anything.doctor.check import Check

_ELSEWHERE = 'export GYM_ANYTHING_STATE_DIR="/var/tmp/gym-anything-$USER"'
_FREE_MIB = 1024
_NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "lustre")
_PORTS = 32


def state_folder(_: Deadline) -> Iterator[Check]:
    """Make a world's folder with a lock and a socket in it, and remove it again."""
    root = state_root()
    world = Run.current().new_world("doctor")
    try:
        with FileLock.acquire(world.path / "lock", deadline=Deadline.after(1)):
            second = FileLock.try_acquire(world.path / "lock")
        path = world.socket_path("s")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(path))
    finally:
        world.remove()
    problems = []
    if second is not None:
        problems.append("file locks do not exclude each other there")
    kind = _file_system(root)
    if kind in _NETWORK_FILE_SYSTEMS:
        problems.append(f"it lies on a network file system ({kind})")
    free = shutil.disk_usage(root).free >> 20
    if free < _FREE_MIB:
        problems.append(f"only {free} MiB are free")
    detail = f"{root} ({kind}, {free} MiB free)"
    yield Check(
        "state-folder", not problems, f"{detail}: {'; '.join(problems)}" if problems else detail, True, _ELSEWHERE
    )


def reflinks(_: Deadline) -> Iterator[Check]:
    """Clone a file. Without it copies of disks and checkpoints cost time and space."""
    root = state_root()
    could = reflink.can_clone(root)
    kind = _file_system(root)
    yield Check(
        "reflink",
        could,
        f"{root} ({kind}) clones files at once" if could else f"{root} ({kind}) cannot clone files; copies are real",
        fix=(
            "truncate -s 50G ~/ga.xfs && mkfs.xfs -q -m reflink=1 ~/ga.xfs && sudo mkdir -p /mnt/ga && "
            "sudo mount -o loop ~/ga.xfs /mnt/ga && sudo chown $USER /mnt/ga && export GYM_ANYTHING_STATE_DIR=/mnt/ga"
        ),
    )


def shared_memory(_: Deadline) -> Iterator[Check]:
    """Make a frame-sized memory file and map it twice."""
    size = 1920 * 1080 * 4
    fd = os.memfd_create("doctor", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, size)
        with mmap.mmap(fd, size) as one, mmap.mmap(fd, size) as two:
            one[size - 1 : size] = b"x"
            seen = two[size - 1 : size] == b"x"
    finally:
        os.close(fd)
    yield Check("shared-memory", seen, "a frame is shared by a memory file" if seen else "a write was not seen", True)


def loopback(deadline: Deadline) -> Iterator[Check]:
    """Bind free ports, keep them, and talk over one of them."""
    taken = [ports.bind_loopback(listen=True) for _ in range(_PORTS)]
    try:
        address = taken[0].getsockname()
        timeout = max(0.1, deadline.remaining())
        with closing(socket.create_connection(address, timeout=timeout)) as client:
            taken[0].settimeout(timeout)
            server, _ = taken[0].accept()
            with closing(server):
                client.sendall(b"hello")
                server.settimeout(timeout)
                heard = server.recv(5) == b"hello"
    finally:
        for sock in taken:
            sock.close()
    yield Check(
        "loopback-ports", heard, f"{_PORTS} ports bound at once, and one spoken through", True, "ip link set lo up"
    )


def processes(deadline: Deadline) -> Iterator[Check]:
    """Start a program through the supervisor and end it with what it started."""
    process = Supervisor.shared().spawn(["sh", "-c", "sleep 60 & sleep 60"], name="doctor's sleeper")
    process.stop(deadline)
    yield Check("supervisor", process.returncode is not None, "programs are started, watched and ended", True)


def leftovers(_: Deadline) -> Iterator[Check]:
    """Look for what runs that were killed have left."""
    found = orphans.find_orphans(state_root())
    kinds = sorted({orphan.kind for orphan in found})
    detail = f"{len(found)} left by killed runs ({', '.join(kinds)})" if found else "nothing was left by killed runs"
    yield Check("leftovers", not found, detail, fix="gym-anything cache gc")


def _file_system(path: Path) -> str:
    best, kind = b"", "unknown"
    real = os.fsencode(path.resolve())
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        before, _, after = line.partition(b" - ")
        point = before.split(b" ")[4]
        below = point == b"/" or real == point or real.startswith(point + b"/")
        if below and len(point) >= len(best):
            best, kind = point, after.split(b" ")[0].decode()
    return kind
