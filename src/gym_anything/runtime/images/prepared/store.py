"""Where prepared images lie: one folder each, whole or not there, with the record of where it came from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.images.prepared.download import Progress, check_digest, no_progress
from gym_anything.runtime.images.store import image_root

RECORD = "prepared.json"
FOLDER = "prepared"
_PARTIAL = ".partial"
_IMPORT_S = 24 * 3600.0
"""How long who waits for another process's import waits: a large image over a slow line."""
_NEEDED = {"name", "kind", "file", "sha256", "bytes"}


@dataclass(frozen=True)
class PreparedImage:
    """An imported image: its folder and its record.

    Attributes:
        record: ``name``, ``version``, ``about``, ``kind``, ``file``, ``sha256``, ``bytes``, ``source``,
            ``archive_sha256``, ``pins`` (every pin under which it was asked for), ``imported_at``.
    """

    folder: Path
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the image."""
        return str(self.record["name"])

    @property
    def path(self) -> Path:
        """The image itself, which nothing writes to."""
        return self.folder / str(self.record["file"])

    @property
    def sha256(self) -> str:
        """SHA-256 of the image; checkpoint keys take it."""
        return str(self.record["sha256"])

    def whole(self) -> bool:
        """Tell whether it is what was imported; reads it whole."""
        try:
            self.check()
        except (SpecInvalid, OSError):
            return False
        return True

    def check(self, progress: Progress = no_progress) -> None:
        """Read it whole. Raises: SpecInvalid when it is not what was imported, OSError."""
        check_digest(self.path, self.sha256, origin=str(self.path), progress=progress)


class PreparedStore:
    """All prepared images of this user."""

    def __init__(self, root: Path | None = None) -> None:
        """Args: root: the folder of all images; None: ``GYM_ANYTHING_IMAGE_DIR`` or its default."""
        self.root = (root or image_root()) / FOLDER

    def all(self) -> list[PreparedImage]:
        """Return every image, by name and age."""
        found = [image for folder in sorted(self.root.glob("*-*")) if (image := _read(folder)) is not None]
        return sorted(found, key=lambda image: (image.name, float(image.record.get("imported_at", 0))))

    def pinned(self, pin: str) -> PreparedImage | None:
        """Return the image that was imported under this SHA-256 (of its manifest, its archive or itself), or None."""
        return next((image for image in self.all() if pin in (*image.record.get("pins", ()), image.sha256)), None)

    def named(self, name: str) -> PreparedImage:
        """Return the newest image of a name, or of a file name that a spec writes (``base_windows_11.qcow2``).

        Raises: SpecNotFound that lists what there is.
        """
        images = self.all()
        found = [image for image in images if name in (image.name, image.record["file"], f"{image.name}.qcow2")]
        if not found:
            known = ", ".join(sorted({image.name for image in images})) or "none"
            fix = "gym-anything image import URL --sha256 DIGEST"
            raise SpecNotFound(
                f"there is no prepared image {name!r}; there are: {known}. Fix: {fix}",
                detail={"name": name, "fix": fix},
            )
        return found[-1]

    @contextmanager
    def importing(self, pin: str, aborted: Callable[[], bool] = lambda: False) -> Iterator[Workplace]:
        """Hold the right to import what has this pin; what was downloaded stays for the next who asks for it."""
        self.root.mkdir(parents=True, exist_ok=True)
        place = self.root / f".{pin[:32]}"
        lock = FileLock.acquire(place.with_suffix(".lock"), deadline=Deadline.after(_IMPORT_S), aborted=aborted)
        work = Workplace(place.with_suffix(".part"), place.with_suffix(_PARTIAL))
        try:
            work.clear()
            work.staging.mkdir(mode=0o755)
            yield work
        finally:
            work.clear()
            lock.release()

    def publish(self, staging: Path, record: Mapping[str, Any]) -> PreparedImage:
        """Put an image under its name. One with the same content that is there already stays and learns its pins."""
        name, digest = str(record["name"]), str(record["sha256"])
        folder = self.root / f"{name}-{digest[:12]}"
        there = _read(folder)
        if there is not None and there.whole():
            pins = sorted({*there.record.get("pins", ()), *record["pins"]})
            atomic_write.write_json(folder / RECORD, {**there.record, "pins": pins}, mode=0o644, durable=True)
            return PreparedImage(folder, {**there.record, "pins": pins})
        _make_durable(staging / str(record["file"]))
        atomic_write.write_json(staging / RECORD, dict(record), mode=0o644, durable=True)
        if folder.exists():
            remove_tree(folder)
        staging.rename(folder)
        return PreparedImage(folder, record)


@dataclass(frozen=True)
class Workplace:
    """Where one import works: the download, which is kept when it is cut, and the image's folder-to-be."""

    part: Path
    staging: Path

    def clear(self) -> None:
        """Remove what is of no use to a later try."""
        if self.staging.exists():
            remove_tree(self.staging)


def _make_durable(image: Path) -> None:
    with image.open("r+b") as file:
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), 0o444)


def _read(folder: Path) -> PreparedImage | None:
    try:
        record = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or not set(record) >= _NEEDED:
        return None
    image = PreparedImage(folder, record)
    return image if image.path.is_file() else None
