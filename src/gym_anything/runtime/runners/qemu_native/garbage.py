"""What QEMU worlds leave in their cache that nothing can use any more: for ``cache gc``."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from gym_anything._util.locks import FileLock
from gym_anything._util.orphans import IsOrphan, Orphan
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import CheckpointLocked, GymAnythingError
from gym_anything.runtime.checkpoints.store import Checkpoint, CheckpointStore
from gym_anything.runtime.qemu.cache import checkpoint_root, disk_root
from gym_anything.runtime.qemu.image.build import PARTIAL, lock_path
from gym_anything.runtime.qemu.image.disk import RECORD, StoredDisk, read_disk
from gym_anything.runtime.qemu.templates import BOOTED

UNUSED_S = 24 * 3600.0
"""A disk that a newer one replaces stays this long after its last use, if a checkpoint lies on it: a day."""
SOON_S = 600.0
"""And this long if none does: two gigabytes for each change of our programs. Ten minutes, for who is just starting."""
_LOCKED_FROM, _LOCKED_BYTES = 100, 200
"""Where QEMU locks the images that it has open. Source: QEMU ``block/file-posix.c``, ``RAW_LOCK_PERM_BASE``."""
_FLOCK = struct.Struct("hhqqi4x")


def collect_stale(is_orphan: IsOrphan, dry_run: bool) -> list[Orphan]:
    """Collect half-made disks, replaced ones that nobody uses, and what was saved of machines on them."""
    found = []
    gone: set[Path] = set()
    store = CheckpointStore(checkpoint_root())
    for path in chain(_half_made(), _replaced(store)):
        gone.add(path)
        if not dry_run:
            remove_tree(path)
        found.append(Orphan("folder", str(path), "-", "-", removed=not dry_run))
    kept = [disk.digests() for disk in _disks() if disk.path not in gone]
    for template in _without_disk(store, kept):
        removed = not dry_run and _remove(store, template)
        found.append(Orphan("folder", str(template.path), "-", "-", removed=removed))
    return found


def _half_made() -> Iterator[Path]:
    """Yield the folders of disks whose maker was killed."""
    for path in disk_root().glob(f"*{PARTIAL}"):
        lock = FileLock.try_acquire(lock_path(path.with_name(path.name.removesuffix(PARTIAL))))
        if lock is not None:
            try:
                yield path  # the lock is held until the caller is done with it
            finally:
                lock.release()


def _disks() -> list[StoredDisk]:
    """Return every readable disk, the one used last first."""
    found = []
    for record in disk_root().glob(f"*/{RECORD}"):
        with contextlib.suppress(GymAnythingError):  # half-made, or another version's
            found.append(read_disk(record.parent))
    return sorted(found, key=lambda disk: -(disk.path / RECORD).stat().st_mtime)


def _replaced(store: CheckpointStore) -> Iterator[Path]:
    seen = set()
    meant = [machine.get("disk") for machine in _machines_of_people(store)]
    for disk in _disks():
        name = disk.record["name"]
        stays_s = UNUSED_S if disk.digests() in meant else SOON_S
        if name in seen and time.time() - (disk.path / RECORD).stat().st_mtime > stays_s and not _in_use(disk):
            yield disk.path
        seen.add(name)


def _machines_of_people(store: CheckpointStore) -> Iterator[dict[str, Any]]:
    """Yield the machines of all checkpoints that are more than an image that was started."""
    for template in store.all():
        machine, material = template.manifest.get("machine"), template.manifest.get("material")
        if isinstance(machine, dict) and not (isinstance(material, dict) and material.get("kind") == BOOTED):
            yield machine


def _in_use(disk: StoredDisk) -> bool:
    """Tell whether a QEMU has the disk open."""
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_FROM, _LOCKED_BYTES, 0)
    try:
        with disk.layer.path.open("rb") as file:
            return bool(_FLOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0] != fcntl.F_UNLCK)
    except FileNotFoundError:
        return False


def _without_disk(store: CheckpointStore, disks: list[dict[str, object]]) -> Iterator[Checkpoint]:
    """Yield the templates whose disk is not there, those that lie on others first."""
    for template in reversed(store.all()):
        machine = template.manifest.get("machine")
        if isinstance(machine, dict) and machine.get("disk") not in disks:
            yield template


def _remove(store: CheckpointStore, template: Checkpoint) -> bool:
    try:
        return store.remove(template.key)
    except CheckpointLocked:  # one that is kept lies on it
        return False
