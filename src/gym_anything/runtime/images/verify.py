"""Checking a stored image against its record, and against the recipe of today."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from gym_anything.errors import GymAnythingError
from gym_anything.runtime.images.formats.table import checker, written
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import plan_build
from gym_anything.runtime.images.store import StoredImage

_CHUNK_BYTES = 4 << 20


@dataclass(frozen=True)
class ImageCheck:
    """What was found.

    Attributes:
        problems: why the image cannot be trusted; empty when its content is what the record says.
        unchecked: formats beside it of which nothing can be said.
        outdated: the recipe, the release or a program of ours has changed since; a new build would differ.
    """

    image: StoredImage
    problems: tuple[str, ...]
    outdated: bool
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether the content is what was built."""
        return not self.problems


def verify_image(image: StoredImage, *, progress: Callable[[int], object] = lambda done: None) -> ImageCheck:
    """Read the whole root file system, and the formats beside it, and compare.

    Args: progress: told the bytes of the root file system read so far.
    """
    problems = []
    try:
        found, count = _sha256(image, progress)
        if found != image.digest:
            problems.append(f"{image.rootfs} has the digest {found}, its record says {image.digest}")
        elif count != image.record.get("rootfs_bytes"):
            problems.append(f"{image.rootfs} has {count} bytes, its record says {image.record.get('rootfs_bytes')}")
    except OSError as error:
        problems.append(f"{image.rootfs} cannot be read: {error}")
    if not image.record.get("packages"):
        problems.append("the record lists no packages")
    unchecked = []
    for name, path in written(image).items():
        check = checker(name)
        if check is None:
            unchecked.append(name)
            continue
        try:
            problems += check(image, path)
        except (OSError, GymAnythingError) as error:
            problems.append(f"{path} cannot be read: {error}")
    return ImageCheck(image, tuple(problems), _is_outdated(image), tuple(unchecked))


def _sha256(image: StoredImage, progress: Callable[[int], object]) -> tuple[str, int]:
    digest, count = hashlib.sha256(), 0
    with image.rootfs.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            count += len(chunk)
            progress(count)
    return digest.hexdigest(), count


def _is_outdated(image: StoredImage) -> bool:
    try:
        plan = plan_build(load_recipe(image.name), str(image.record.get("suite")))
    except GymAnythingError:
        return True  # its recipe is gone
    return plan.digest != str(image.record["recipe_digest"])
