"""Where built images lie: one folder per recipe and release, whole or not there, with the record of its build."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write, env_vars
from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree

IMAGE_DIR = env_vars.declare(
    "GYM_ANYTHING_IMAGE_DIR",
    env_vars.path,
    None,
    "Folder of built and imported images; a desktop takes 2 GB. Default: $XDG_CACHE_HOME/gym-anything/images, else "
    "below ~/.cache.",
    "gym_anything.runtime.images.store",
)
ROOTFS, RECORD = "rootfs.tar", "record.json"
_PARTIAL = ".partial"
_BUILD_S = 3600.0


@dataclass(frozen=True)
class StoredImage:
    """A built image: its folder and the record of its build."""

    path: Path
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the recipe."""
        return str(self.record["name"])

    @property
    def rootfs(self) -> Path:
        """The root file system, a tar archive."""
        return self.path / ROOTFS

    @property
    def digest(self) -> str:
        """SHA-256 of the root file system: what the build was when it was made."""
        return str(self.record["rootfs_sha256"])


class ImageStore:
    """All built images of this user."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or image_root()

    def find(self, name: str, recipe_digest: str) -> StoredImage | None:
        """Return the build of exactly this recipe, or None."""
        return _read(self._folder(name, recipe_digest))

    def all(self) -> list[StoredImage]:
        """Return every build, by name and age."""
        found = [image for folder in sorted(self.root.glob("*-*")) if (image := _read(folder)) is not None]
        return sorted(found, key=lambda image: (image.name, float(image.record.get("built_at", 0))))

    @contextmanager
    def building(self, name: str, recipe_digest: str) -> Iterator[StoredImage | None]:
        """Hold the right to build this one; what another process built meanwhile is given."""
        self.root.mkdir(parents=True, exist_ok=True)
        lock_path = self.root / f"{self._folder(name, recipe_digest).name}.lock"
        lock = FileLock.acquire(lock_path, deadline=Deadline.after(_BUILD_S))
        try:
            yield self.find(name, recipe_digest)
        finally:
            lock.release()

    def staging(self, name: str, recipe_digest: str) -> Path:
        """Return an empty folder to build in; only while ``building``."""
        folder = self._folder(name, recipe_digest)
        partial = folder.with_name(folder.name + _PARTIAL)
        if partial.exists():
            remove_tree(partial)
        partial.mkdir(mode=0o755)
        return partial

    def publish(self, staging: Path, record: Mapping[str, Any]) -> StoredImage:
        """Put a finished build under its name, in place of an older one."""
        atomic_write.write_json(staging / RECORD, dict(record), mode=0o644)
        folder = staging.with_name(staging.name.removesuffix(_PARTIAL))
        if folder.exists():
            remove_tree(folder)
        staging.rename(folder)
        image = _read(folder)
        assert image is not None
        return image

    def _folder(self, name: str, recipe_digest: str) -> Path:
        return self.root / f"{name}-{recipe_digest[:12]}"


def image_root() -> Path:
    """Return the folder of all built images of this user."""
    chosen = IMAGE_DIR.get()
    if chosen is not None:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return cache / "gym-anything" / "images"


def _read(folder: Path) -> StoredImage | None:
    try:
        record = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    whole = isinstance(record, dict) and {"name", "rootfs_sha256", "recipe_digest"} <= set(record)
    return StoredImage(folder, record) if whole and (folder / ROOTFS).is_file() else None
