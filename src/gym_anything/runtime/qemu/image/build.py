"""The disk of an image: built once from its root file system, then found by what it is made of."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.digest import SHARED, sha256_bytes
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.state_dir import Run
from gym_anything._util.supervised_process import StopPlan
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError
from gym_anything.runtime.images.store import StoredImage
from gym_anything.runtime.qemu.cache import disk_root
from gym_anything.runtime.qemu.image.disk import (
    COMMAND_LINE,
    FORMAT,
    INITRD,
    KERNEL,
    RECORD,
    StoredDisk,
    read_disk,
)
from gym_anything.runtime.session.desktop_files import APPLICATIONS, FOLDER, desktop_files

DISK_MIB = 16 * 1024
"""What the machine sees as the size of its disk; the file is as large as what lies in it."""
PARTIAL = ".partial"
"""How the name of a disk's folder ends while it is made."""
_FILLING = 4
"""Raised when the same image gives another disk."""
_MODULE = "gym_anything.runtime.qemu.image.filling"
_LIMIT_S = 900.0


def _filling() -> str:
    """Return what changes whenever the same image gives another disk, be it by the look of its desktop."""
    look = json.dumps(desktop_files(APPLICATIONS, FOLDER), sort_keys=True)
    return f"{_FILLING}-{sha256_bytes(look.encode())[7:15]}"


def disk_folder(image: StoredImage, programs: Mapping[str, Path]) -> Path:
    """Return where the disk of an image with these programs of ours lies, or will."""
    parts = {"image": image.digest, "format": FORMAT, "programs": _digests(programs), "filling": _filling()}
    parts["command_line"] = COMMAND_LINE
    return disk_root() / f"{image.name}-{sha256_bytes(json.dumps(parts, sort_keys=True).encode())[7:23]}"


def lock_path(folder: Path) -> Path:
    """Return the file that whoever makes this disk holds."""
    return folder.with_name(f"{folder.name}.lock")


def build_disk(
    image: StoredImage,
    programs: Mapping[str, Path],
    *,
    progress: Callable[[str], object] = lambda stage: None,
    aborted: Callable[[], bool] = lambda: False,
) -> StoredDisk:
    """Return the disk of an image, made when it is not there; another process that makes it is waited for.

    Args:
        programs: name -> file of the programs of ours, which replace those that the image was built with.
        aborted: asked now and then; True ends it with ``Aborted``.
    Takes half a minute. Raises: HostError with the reason; nothing is left then.
    """
    folder = disk_folder(image, programs)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock.acquire(lock_path(folder), deadline=Deadline.after(_LIMIT_S), aborted=aborted)
    try:
        if not (folder / RECORD).exists():
            progress(f"making the disk of {image.name}")
            write_disk(image, folder, programs, aborted)
        os.utime(folder / RECORD)  # its last use, which decides when a replaced one goes
        return read_disk(folder)
    finally:
        lock.release()


def write_disk(
    image: StoredImage, out: Path, programs: Mapping[str, Path], aborted: Callable[[], bool] = lambda: False
) -> Path:
    """Make the disk of an image in the folder ``out``, which appears whole or not at all, and return it."""
    staging = out.with_name(f"{out.name}{PARTIAL}")
    for old in (staging, out):
        if old.exists():
            remove_tree(old)
    staging.mkdir(parents=True)
    try:
        facts = _fill(image.rootfs, staging, list(programs.values()), aborted)
        digests = {name: SHARED.file(staging / file).hex() for name, file in (("kernel", KERNEL), ("initrd", INITRD))}
        record = {"format": FORMAT, "name": image.name, "rootfs": image.digest, "disk_mib": DISK_MIB}
        record |= {"programs": _digests(programs), "filling": _filling(), "command_line": COMMAND_LINE}
        record |= {**digests, **facts}
        atomic_write.write_json(staging / RECORD, record, mode=0o644)
        staging.rename(out)
    finally:
        if staging.exists():
            remove_tree(staging)
    return out


def _digests(programs: Mapping[str, Path]) -> dict[str, str]:
    return {name: SHARED.file(path).hex() for name, path in sorted(programs.items())}


def _fill(rootfs: Path, target: Path, programs: Sequence[Path], aborted: Callable[[], bool]) -> dict[str, str]:
    """Run the filling in a process of its own, as root of a user namespace where we are not root."""
    argv = [sys.executable, "-m", _MODULE, str(rootfs), str(target), str(DISK_MIB), *map(str, programs)]
    if os.geteuid() != 0:
        argv = ["/usr/bin/unshare", "--map-auto", "--map-root-user", *argv]
    world = Run.current().new_world("disk")
    said, log = world.path / "facts.json", world.path / "filling.log"
    try:
        with said.open("wb") as output, log.open("wb") as errors:
            process = Supervisor.shared().spawn(
                argv,
                name="the making of a disk",
                env={**os.environ, **world.env},
                stdout=output.fileno(),
                stderr=errors.fileno(),
                stop=StopPlan(signal=9, grace_s=0.0),
            )
            deadline = Deadline.after(_LIMIT_S)
            ended = "the disk of an image"
            wait_until(lambda: process.returncode is not None, deadline=deadline, awaited=ended, aborted=aborted)
            code = process.wait(deadline)
        facts = _facts(said)
        if code != 0 or "error" in facts:
            raise HostError(f"the disk could not be made: {facts.get('error') or log.read_text()[-1000:]}")
        return facts
    finally:
        Supervisor.shared().stop_world(world.id)
        world.remove()


def _facts(path: Path) -> dict[str, str]:
    try:
        return dict(json.loads(path.read_bytes()))
    except ValueError:
        return {}
