"""The store: checkpoints on disk, one folder each, appearing whole or not at all.

``<root>/<key>/`` holds ``manifest.json`` and whatever the runner put there; ``<root>/locks/`` one file per key for its
users (shared) and one for its creator (exclusive). Locks are the kernel's: a killed process holds none.

What is published ``sync_later`` is there at once and on disk some seconds later. Until it is, only this boot of the
host believes in it: after a crash that came in between, nobody finds it.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write, proc
from gym_anything._util.ascii_names import random_name
from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import CheckpointError, CheckpointLocked, CheckpointMissing, CheckpointStale, DeadlineExceeded

MANIFEST = "manifest.json"
ON_DISK = "on-disk"
"""The file that says that a checkpoint with a ``boot`` in its manifest has survived it."""
STORE_FORMAT = 1
_STAGING = "staging-"
_DOOMED = "doomed-"


@dataclass(frozen=True)
class Checkpoint:
    """One stored checkpoint.

    Attributes:
        path: its folder; never changed after it appeared.
        manifest: what its creator wrote down, and ``format``, ``key``, ``created_at``, ``parents``, ``material``.
    """

    key: str
    path: Path
    manifest: Mapping[str, Any]

    @property
    def parents(self) -> tuple[str, ...]:
        """Keys of the checkpoints it lies on, the nearest first; it cannot be used without them."""
        return tuple(self.manifest.get("parents") or ())


class Lease:
    """The use of some checkpoints: while it is held, the files of none of them go."""

    def __init__(self, store: CheckpointStore, locks: Mapping[str, FileLock]) -> None:
        self._store = store
        self._locks = dict(locks)

    def release(self) -> None:
        """Give the use up; idempotent. Files of checkpoints that were removed meanwhile go with their last user."""
        keys = list(self._locks)
        while self._locks:
            self._locks.popitem()[1].release()
        self._store.bury(keys)


class CheckpointStore:
    """All checkpoints of one kind on this machine. Any number of processes may use it at once."""

    def __init__(self, root: Path, *, removal: Callable[[Path], None] = remove_tree) -> None:
        """Args: removal: deletes a folder; a runner whose files have foreign owners gives its own."""
        self.root = root
        self._removal = removal

    # --- finding -------------------------------------------------------------------------------------------------

    def find(self, key: str) -> Checkpoint | None:
        """Return the checkpoint under ``key`` with all its parents present, or None.

        Raises: CheckpointStale when one is there that this version cannot read.
        """
        found = self._read(key)
        if found is None:
            return None
        complete = all(self._read(parent) is not None for parent in found.parents)
        return found if complete else None

    def get(self, key: str) -> Checkpoint:
        """Return the checkpoint under ``key``. Raises: CheckpointMissing, CheckpointStale."""
        found = self.find(key)
        if found is None:
            raise CheckpointMissing(f"no checkpoint under the key {key}", detail={"key": key})
        return found

    def all(self) -> list[Checkpoint]:
        """Return every readable checkpoint, the oldest first."""
        if not self.root.is_dir():
            return []
        found = []
        for path in self.root.iterdir():
            if not path.name.startswith((_STAGING, _DOOMED)) and (path / MANIFEST).is_file():
                manifest = _read_json(path / MANIFEST)
                if manifest is not None and not _lost(path, manifest):
                    found.append(Checkpoint(path.name, path, manifest))
        return sorted(found, key=lambda checkpoint: float(checkpoint.manifest.get("created_at") or 0.0))

    def lease(self, checkpoint: Checkpoint) -> Lease:
        """Use a checkpoint and its parents until the lease is released or this process ends.

        Raises: CheckpointLocked while it is being removed; CheckpointMissing when it has just gone.
        """
        locks: dict[str, FileLock] = {}
        try:
            for key in (checkpoint.key, *checkpoint.parents):
                lock = FileLock.try_acquire(self._lock_path(key, "use"), shared=True)
                if lock is None:
                    raise CheckpointLocked(f"checkpoint {key} is being removed", detail={"key": key})
                locks[key] = lock
            self.get(checkpoint.key)
        except BaseException:
            Lease(self, locks).release()
            raise
        return Lease(self, locks)

    # --- creating ------------------------------------------------------------------------------------------------

    @contextmanager
    def creating(
        self, key: str, deadline: Deadline, *, aborted: Callable[[], bool] = lambda: False
    ) -> Iterator[Checkpoint | None]:
        """Be the only creator of ``key`` in this block, across processes; others wait, then find what was made.

        Yields: the checkpoint if another has made it meanwhile (make nothing then), else None.
        Args: aborted: asked while another creator is waited for; True ends that with ``Aborted``.
        Raises: CheckpointLocked when the other creator does not finish before the deadline.
        """
        path = self._lock_path(key, "create")
        try:
            lock = FileLock.acquire(path, deadline=deadline, aborted=aborted)
        except DeadlineExceeded as error:
            raise CheckpointLocked(f"another process is still making {key}: {error}", detail={"key": key}) from error
        try:
            yield self.find(key)
        finally:
            lock.release()

    def publish(
        self, key: str, manifest: Mapping[str, Any], fill: Callable[[Path], None], *, sync_later: bool = False
    ) -> Checkpoint:
        """Make a checkpoint: ``fill`` puts its content into a staging folder, which then appears whole under ``key``.

        Call it inside ``creating``. When ``fill`` raises, nothing is left.

        Args: sync_later: do not wait for the disk; hundreds of megabytes take it seconds.
        Raises: CheckpointError when the disk refuses (full, read-only …).
        """
        self._ensure(self.root)
        staging = self.root / random_name(_STAGING, 8)
        guard = FileLock.try_acquire(self._lock_path(staging.name, "create"))
        try:
            staging.mkdir(mode=0o700)
            fill(staging)
            whole = {**manifest, "key": key, "format": STORE_FORMAT, "created_at": time.time()}
            if sync_later:
                (staging / MANIFEST).write_text(json.dumps(whole | {"boot": proc.boot_id()}), encoding="utf-8")
            else:
                atomic_write.write_json(staging / MANIFEST, whole, mode=0o600)
                _sync(staging)
            if _lost(self.root / key, _read_json(self.root / key / MANIFEST) or {}):
                self._removal(self.root / key)
            staging.rename(self.root / key)
        except OSError as error:
            raise CheckpointError(f"checkpoint {key} could not be stored: {error}", detail={"key": key}) from error
        finally:
            if staging.exists():
                self._removal(staging)
            if guard is not None:
                guard.release(remove=True)
        if sync_later:
            # No daemon: a process that ends waits for its disk.
            threading.Thread(target=_bring_to_disk, args=(self.root / key,), name="checkpoint-sync").start()
        return Checkpoint(key, self.root / key, whole)

    # --- removing ------------------------------------------------------------------------------------------------

    def remove(self, key: str) -> bool:
        """Remove a checkpoint: nobody finds it from now on. Its files stay until the last world that uses them is done.

        Returns: False when there was none.
        Raises: CheckpointLocked when another checkpoint lies on it.
        """
        child = next((other.key for other in self.all() if key in other.parents), None)
        if child is not None:
            raise CheckpointLocked(f"checkpoint {key} is needed by {child}; remove that first", detail={"key": key})
        path = self.root / key
        if not path.exists():
            return False
        path.rename(self.root / f"{_DOOMED}{key}-{random_name('', 6)}")
        self.bury([key])
        return True

    def bury(self, keys: Sequence[str]) -> None:
        """Delete the files of removed checkpoints under these keys that nobody uses any more."""
        for key in keys:
            doomed = list(self.root.glob(f"{_DOOMED}{key}-*"))
            lock = FileLock.try_acquire(self._lock_path(key, "use")) if doomed else None
            if lock is not None:
                for path in doomed:
                    self._removal(path)
                lock.release()

    def collect(self, *, dry_run: bool = False) -> list[Path]:
        """Remove what killed processes left: half-made checkpoints, removed ones; return what was (or would be)."""
        found: list[Path] = []
        if not self.root.is_dir():
            return found
        for manifest in self.root.glob(f"*/{MANIFEST}"):
            if _lost(manifest.parent, _read_json(manifest) or {}):
                found.append(manifest.parent)
                if not dry_run:
                    self._removal(manifest.parent)
        for path in (*self.root.glob(f"{_STAGING}*"), *self.root.glob(f"{_DOOMED}*")):
            name = path.name.removeprefix(_DOOMED).rpartition("-")[0] if path.name.startswith(_DOOMED) else path.name
            purpose = "use" if path.name.startswith(_DOOMED) else "create"
            lock = FileLock.try_acquire(self._lock_path(name, purpose))
            if lock is None:
                continue  # its creator or user lives
            found.append(path)
            if not dry_run:
                self._removal(path)
            lock.release(remove=purpose == "create")
        return found

    def size_bytes(self) -> int:
        """Return what all checkpoints take on disk, roughly (blocks of files)."""
        total = 0
        for folder, _, files in os.walk(self.root):
            for name in files:
                try:
                    total += Path(folder, name).lstat().st_blocks * 512
                except OSError:
                    continue  # removed while we looked
        return total

    # --- inside --------------------------------------------------------------------------------------------------

    def _read(self, key: str) -> Checkpoint | None:
        path = self.root / key
        manifest = _read_json(path / MANIFEST)
        if manifest is None or _lost(path, manifest):
            return None
        if manifest.get("format") != STORE_FORMAT or manifest.get("key") != key:
            raise CheckpointStale(
                f"checkpoint {key} was written in format {manifest.get('format')}, this version reads {STORE_FORMAT}",
                detail={"key": key, "difference": "format"},
            )
        return Checkpoint(key, path, manifest)

    def _lock_path(self, key: str, purpose: str) -> Path:
        folder = self.root / "locks"
        self._ensure(folder)
        return folder / f"{key}.{purpose}"

    def _ensure(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _lost(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Tell whether the host went down before this was on its disk."""
    boot = manifest.get("boot")
    return boot is not None and boot != proc.boot_id() and not (path / ON_DISK).exists()


def _bring_to_disk(path: Path) -> None:
    with contextlib.suppress(OSError):  # removed meanwhile; or the disk failed, and then nothing must say otherwise
        _sync(path)
        (path / ON_DISK).touch(mode=0o600)


def _sync(folder: Path) -> None:
    """Have everything below the folder on disk before its name says that it is there."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _syncfs(fd)
    finally:
        os.close(fd)


def _syncfs(fd: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).syncfs(fd) != 0:
        raise OSError(ctypes.get_errno(), "syncfs failed")
