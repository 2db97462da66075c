"""SHA-256 of files and folders, remembered as long as the file's identity and times say that it has not changed."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from pathlib import Path
from typing import NamedTuple

from gym_anything.errors import HostError

_CHUNK_BYTES = 1 << 20
_SETTLED_NS = 2_000_000_000
"""A file changed less than this ago is not remembered: another change within the clock's step would go unseen."""


class _Identity(NamedTuple):
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class DigestCache:
    """Digests by file identity (device, inode, size, mtime and ctime in ns); thread safe, in memory."""

    def __init__(self, *, capacity: int = 100_000) -> None:
        self._known: dict[_Identity, bytes] = {}
        self._capacity = capacity
        self._lock = threading.Lock()

    def file(self, path: Path) -> bytes:
        """Return the SHA-256 (32 bytes) of a file's content.

        Raises: OSError, also when it is not a regular file; HostError when it changes while it is read.
        """
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(22, "not a regular file", str(path))
            identity = _identity(before)
            with self._lock:
                known = self._known.get(identity)
            if known is not None:
                return known
            found = _hash(fd)
            after = os.fstat(fd)
            if _identity(after) != identity:
                raise HostError(f"{path} changed while it was read", detail={"path": str(path)})
            self._remember(identity, found)
            return found
        finally:
            os.close(fd)

    def tree(self, folder: Path, *, skip: frozenset[str] = frozenset({"__pycache__"})) -> str:
        """Return ``sha256:<hex>`` over all files below a folder.

        The same content gives the same digest wherever it lies: relative paths, kinds, the executable bit, contents and
        the targets of symbolic links count; owners, times and other permission bits do not. Empty folders count.

        Args:
            skip: names of files and folders that never count (generated ones).
        """
        total = hashlib.sha256()
        self._add_folder(total, folder, "", skip)
        return f"sha256:{total.hexdigest()}"

    def _add_folder(self, total: hashlib._Hash, folder: Path, prefix: str, skip: frozenset[str]) -> None:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        for entry in entries:
            if entry.name in skip:
                continue
            name = f"{prefix}{entry.name}"
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                _add(total, b"folder", name, b"")
                self._add_folder(total, Path(entry.path), f"{name}/", skip)
            elif stat.S_ISLNK(mode):
                _add(total, b"link", name, os.fsencode(Path(entry.path).readlink()))
            elif stat.S_ISREG(mode):
                _add(total, b"program" if mode & 0o111 else b"file", name, self.file(Path(entry.path)))
            else:
                _add(total, b"special", name, b"")

    def _remember(self, identity: _Identity, found: bytes) -> None:
        newest = max(identity.mtime_ns, identity.ctime_ns)
        if time.time_ns() - newest < _SETTLED_NS:
            return
        with self._lock:
            if len(self._known) >= self._capacity:
                self._known.clear()
            self._known[identity] = found


SHARED = DigestCache()
"""The process's one cache."""


def sha256_bytes(data: bytes) -> str:
    """Return ``sha256:<hex>`` of some bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def sha256_tree(folder: Path) -> str:
    """Return ``sha256:<hex>`` over a folder; see ``DigestCache.tree``."""
    return SHARED.tree(folder)


def _identity(info: os.stat_result) -> _Identity:
    return _Identity(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _hash(fd: int) -> bytes:
    total = hashlib.sha256()
    while data := os.read(fd, _CHUNK_BYTES):
        total.update(data)
    return total.digest()


def _add(total: hashlib._Hash, kind: bytes, name: str, content: bytes) -> None:
    for part in (kind, os.fsencode(name), content):
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
