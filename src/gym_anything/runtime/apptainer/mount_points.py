"""The places at which an instance's binds are mounted, made in its overlay from outside: a program in it is slower.

Only for images that are folders. What is made looks like what the world would make: each folder that the overlay lacks
gets mode and owner of the one it lies over.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from gym_anything.runtime.apptainer.command import Instance

UPPER = "upper"
"""Where in an overlay folder of apptainer's the written files lie."""
_OPAQUE = "trusted.overlay.opaque"
_MOST_LINKS = 40


def make_mount_points(instance: Instance) -> bool:
    """Make the mount points; False when only a program in the world can: nothing, or some of them, are there then.

    That is so for an image in a file, for further overlays whose form we do not know, and for owners that are not ours.
    """
    layers = [Path(layer) for layer in instance.layers]
    if not Path(instance.image).is_dir() or not all((layer / UPPER).is_dir() for layer in layers):
        return False
    if layers and os.geteuid() != 0:
        return False  # what fuse-overlayfs notes is its own affair
    upper = Path(instance.overlay, UPPER)
    upper.mkdir(mode=0o755, parents=True, exist_ok=True)
    view = _View([upper, *(layer / UPPER for layer in reversed(layers)), Path(instance.image)])
    try:
        for bind in instance.binds:
            view.make(PurePosixPath(bind.target), is_file=bind.is_file)
    except (PermissionError, _Strange):
        return False
    return True


class _Strange(Exception):
    """Something lies where no mount point can be."""


class _View:
    """Folders laid over each other as the kernel's overlay does, the upper one first."""

    def __init__(self, layers: Sequence[Path]) -> None:
        self._layers = layers

    def make(self, target: PurePosixPath, *, is_file: bool) -> None:
        """Make what is missing of a target."""
        place, left, links = PurePosixPath("/"), list(target.parts[1:]), 0
        while left:
            name = left.pop(0)
            if name == "..":
                place = place.parent
                continue
            found = self._find(place / name)
            if found is not None and found.is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    raise _Strange(target)
                link = PurePosixPath(found.readlink())
                place = PurePosixPath("/") if link.is_absolute() else place
                left = [*link.parts[1 if link.is_absolute() else 0 :], *left]
            elif found is None:
                self._add(place / name, is_file=is_file and not left)
                place /= name
            elif left and not found.is_dir():
                raise _Strange(target)
            else:
                place /= name

    def _add(self, path: PurePosixPath, *, is_file: bool) -> None:
        for parent in [*reversed(path.parents)][1:]:
            self._copy_up(parent)
        new = self._layers[0].joinpath(*path.parts[1:])
        if is_file:
            new.touch(mode=0o644)
        else:
            new.mkdir(mode=0o755)
            new.chmod(0o755)  # whatever the umask

    def _copy_up(self, folder: PurePosixPath) -> None:
        """Have a folder in the upper layer that looks like the one under it."""
        upper = self._layers[0].joinpath(*folder.parts[1:])
        below = self._find(folder)
        if upper.exists() or below is None:
            return
        info = below.stat()
        upper.mkdir()
        os.chown(upper, info.st_uid, info.st_gid)
        upper.chmod(stat.S_IMODE(info.st_mode))

    def _find(self, path: PurePosixPath) -> Path | None:
        """Return what is seen at a path without links in it; None when nothing is."""
        folders = list(self._layers)
        seen: list[Path] = []
        for name in path.parts[1:]:
            seen = []
            for folder in folders:
                entry = folder / name
                try:
                    info = entry.lstat()
                except (FileNotFoundError, NotADirectoryError):
                    continue
                if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
                    break  # deleted
                seen.append(entry)
                if not stat.S_ISDIR(info.st_mode) or _hides_below(entry):
                    break
            folders = seen
        return seen[0] if seen else None


def _hides_below(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False
