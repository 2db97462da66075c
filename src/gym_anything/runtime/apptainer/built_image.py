"""An image of apptainer's on this host: what it is made from, and how it comes to be there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.digest import SHARED, sha256_tree
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError, MissingDependency, WorldStartFailed
from gym_anything.runtime.apptainer.build import build
from gym_anything.runtime.images.formats import apptainer as apptainer_format
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import find_system, plan_build
from gym_anything.runtime.images.store import StoredImage

Report = Callable[..., None]


@dataclass(frozen=True)
class Image:
    """An image: where it is (to be), what it is built from, and what says that it is the same.

    Attributes:
        path: SIF file or sandbox folder.
        name: what it is known by without a look into it: an address, a digest; empty for the user's own file or folder.
        source: what apptainer builds it from; empty when it is the user's own, or ours.
        stored: the root file system it is made from, when it is ours.
    """

    path: Path
    name: str = ""
    source: str = ""
    stored: StoredImage | None = None
    fakeroot: bool = False

    def mark(self) -> str:
        """Return what changes with its content. A user's own image is read for it: seconds, for a large folder."""
        if self.name:
            return self.name
        return sha256_tree(self.path) if self.path.is_dir() else f"sha256:{SHARED.file(self.path).hex()}"


def image_of_ours(name: str, folder: Path) -> Image:
    """Return the image of a recipe of ours. Raises: MissingDependency when that is not built; with the fix."""
    stored = find_system(plan_build(load_recipe(name)))
    if stored is None:
        fix = f"gym-anything image build {name}"
        raise MissingDependency(f"the image {name} is not built. Fix: {fix}", detail={"fix": fix})
    return Image(folder / f"{stored.name}-{stored.digest[:12]}", stored.digest, stored=stored)


def image_at(address: str, folder: Path) -> Image:
    """Return the image of an address that apptainer can fetch; one without ``://`` is a Docker registry's."""
    whole = address if "://" in address else f"docker://{address}"
    return Image(folder / f"{_file_name(whole)}.sif", whole, whole)


def ensure_image(image: Image, deadline: Deadline, report: Report, aborted: Callable[[], bool]) -> None:
    """Build or fetch what is not there; one process of this user at a time. Raises: WorldStartFailed, Aborted."""
    if image.path.exists():
        return
    image.path.parent.mkdir(parents=True, exist_ok=True)
    path = image.path.with_name(f".{image.path.name}.lock")
    lock = wait_until(
        lambda: FileLock.try_acquire(path),
        deadline=deadline,
        awaited=f"another process that builds {image.path.name}",
        aborted=aborted,
    )
    assert lock is not None
    try:
        if image.path.exists():
            return
        for left in image.path.parent.glob(f".{image.path.name}-*"):  # of a build that was killed
            remove_tree(left)
        report("image", doing="build", reference=image.source or str(image.path))
        if image.stored is not None:
            apptainer_format.write(image.stored, image.path, deadline, sandbox=True, aborted=aborted)
        else:
            build(image.source, image.path, deadline, fakeroot=image.fakeroot, aborted=aborted)
    except HostError as error:
        raise WorldStartFailed(str(error), detail=error.detail) from error
    finally:
        lock.release()


def _file_name(address: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in address)
