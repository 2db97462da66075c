"""What ``cache gc`` takes of disks and saved machines, and what it leaves."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.locks import FileLock
from gym_anything.runtime.checkpoints.store import CheckpointStore
from gym_anything.runtime.qemu.image.build import lock_path
from gym_anything.runtime.qemu.image.disk import DISK, FORMAT, RECORD, read_disk
from gym_anything.runtime.qemu.templates import BOOTED
from gym_anything.runtime.runners.qemu_native.garbage import SOON_S, UNUSED_S, collect_stale

pytestmark = pytest.mark.unit


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GYM_ANYTHING_QEMU_CACHE", str(tmp_path))
    return tmp_path


def disk(cache: Path, folder: str, *, name: str = "debian", unused_s: float = 0.0) -> Path:
    path = cache / "disks" / folder
    path.mkdir(parents=True)
    record = {"format": FORMAT, "name": name, "rootfs": folder, "programs": {}, "filling": 1, "kernel": "k"}
    (path / RECORD).write_text(json.dumps({**record, "initrd": "i", "command_line": "quiet", "disk_mib": 16}))
    used_at = time.time() - unused_s
    os.utime(path / RECORD, (used_at, used_at))
    return path


def saved_on(
    cache: Path, key: str, digests: dict[str, Any], parents: tuple[str, ...] = (), *, kind: str = "qemu"
) -> Path:
    store = CheckpointStore(cache / "checkpoints")
    manifest = {"machine": {"disk": digests}, "parents": list(parents), "material": {"kind": kind}}
    return store.publish(key, manifest, lambda folder: None).path


def collected(*, dry_run: bool = False) -> set[str]:
    return {Path(orphan.what).name for orphan in collect_stale(lambda label: False, dry_run)}


def test_a_replaced_disk_goes_a_day_after_its_last_use_with_what_was_saved_on_it(cache: Path) -> None:
    old, new = disk(cache, "old", unused_s=UNUSED_S + 60), disk(cache, "new")
    on_old = saved_on(cache, "a", read_disk(old).digests())
    above = saved_on(cache, "b", read_disk(old).digests(), ("a",))
    on_new = saved_on(cache, "c", read_disk(new).digests())
    assert collected(dry_run=True) == {"old", "a", "b"}
    assert old.exists() and on_old.exists()
    assert collected() == {"old", "a", "b"}
    assert [path.exists() for path in (old, on_old, above, new, on_new)] == [False, False, False, True, True]
    assert collected() == set()


def test_a_replaced_disk_that_no_checkpoint_lies_on_goes_soon(cache: Path) -> None:
    """Each change of our programs makes a disk; an image that was merely started is made again."""
    unsaved, recent = disk(cache, "unsaved", unused_s=SOON_S + 60), disk(cache, "recent", unused_s=SOON_S - 60)
    saved, new = disk(cache, "saved", unused_s=SOON_S + 60), disk(cache, "new")
    saved_on(cache, "a", read_disk(unsaved).digests(), kind=BOOTED)
    saved_on(cache, "b", read_disk(saved).digests(), kind=BOOTED)
    saved_on(cache, "c", read_disk(saved).digests(), ("b",))
    assert collected() == {"unsaved", "a"}
    assert [path.exists() for path in (unsaved, recent, saved, new)] == [False, True, True, True]


def test_a_replaced_disk_stays_while_a_machine_has_it_open(cache: Path) -> None:
    old = disk(cache, "old", unused_s=UNUSED_S + 60)
    (old / DISK).write_bytes(b"x" * 4096)
    disk(cache, "new")
    with (old / DISK).open("rb") as file:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 201, 1, 0))
        assert collected() == set()
    assert collected() == {"old"}


def test_the_only_disk_of_an_image_stays_however_old(cache: Path) -> None:
    kept = [
        disk(cache, "one", unused_s=UNUSED_S * 9),
        disk(cache, "other", name="minimal"),
        disk(cache, "recent", name="minimal"),
    ]
    assert collected() == set()
    assert all(path.exists() for path in kept)


def test_half_a_disk_goes_unless_somebody_is_at_it(cache: Path) -> None:
    for name in ("dead", "alive"):
        (cache / "disks" / f"{name}.partial").mkdir(parents=True)
    lock = FileLock.try_acquire(lock_path(cache / "disks" / "alive"))
    assert lock is not None
    assert collected() == {"dead.partial"}
    lock.release()
    assert collected() == {"alive.partial"}
