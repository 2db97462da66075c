"""The spec's mounts in a local world: shown read-only, or copied in and, for read-write ones, back out."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.runners.local.misfits import is_own_place
from gym_anything.runtime.runners.local.sandbox.plan import BindPlan
from gym_anything.runtime.session.accounts import DESKTOP_USER
from gym_anything.specs.env_spec import EnvSpec

_COPY_S = 600.0
_OTHERS_MAY_READ = stat.S_IROTH
_OTHERS_MAY_ENTER = stat.S_IROTH | stat.S_IXOTH


@dataclass(frozen=True)
class MountSet:
    """How each mount comes into the world.

    Attributes:
        shown: read-only binds.
        copied: (source, target) of read-only mounts that the world's users could not read through a bind.
        shared: (source, target) of read-write mounts: copied in at the start and back at the end.
    """

    shown: tuple[BindPlan, ...]
    copied: tuple[tuple[Path, str], ...]
    shared: tuple[tuple[Path, str], ...]


def decide_mounts(spec: EnvSpec, *, ids_are_mapped: bool) -> MountSet:
    """Sort the spec's mounts.

    Args: ids_are_mapped: binds are shown with the world's ids (only real root can ask for that), so all is readable.
    Raises: SpecNotFound for a source that is not there; SpecInvalid for a place that cannot be had.
    """
    shown, copied, shared = [], [], []
    for mount in spec.mounts:
        source = Path(mount.source).expanduser()
        if not source.exists():
            raise SpecNotFound(
                f"mount source {mount.source} does not exist (target {mount.target})",
                detail={"key": "mounts", "source": mount.source, "target": mount.target},
            )
        target = "/" + os.path.normpath(mount.target).strip("/")
        if is_own_place(target):
            raise SpecInvalid(
                f"mounts: nothing can be mounted at {mount.target}; a local world keeps it for itself",
                detail={"key": "mounts", "target": mount.target, "fix": "use a place below /workspace"},
            )
        if mount.mode == "rw":
            shared.append((source, mount.target))
        elif ids_are_mapped or readable_by_all(source):
            shown.append(BindPlan(source=str(source.resolve()), target=target, map_ids=True))
        else:
            copied.append((source, mount.target))
    return MountSet(tuple(shown), tuple(copied), tuple(shared))


def readable_by_all(source: Path) -> bool:
    """Tell whether a foreign user may read everything at and below ``source`` (its parents do not matter)."""
    for folder, folders, files in os.walk(source):
        if not _allows(Path(folder), _OTHERS_MAY_ENTER):
            return False
        if not all(_allows(Path(folder, name), _OTHERS_MAY_READ) for name in (*files, *folders)):
            return False
    return source.is_dir() or _allows(source, _OTHERS_MAY_READ)


def _allows(path: Path, bits: int) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISLNK(mode) or mode & bits == bits


def copy_in(channel: GuestChannel, pairs: Sequence[tuple[Path, str]], owner: str) -> None:
    """Copy these sources to their targets."""
    deadline = Deadline.after(_COPY_S)
    for source, target in pairs:
        if source.is_dir():
            channel.put_tree(source, target, deadline=deadline, owner=owner)
        else:
            channel.put_file(source, target, deadline=deadline, owner=owner, mode=source.stat().st_mode & 0o777)


def copy_shared_in(channel: GuestChannel, mounts: MountSet) -> None:
    """Copy in everything that is not shown; what is shared belongs to the desktop's user there."""
    copy_in(channel, mounts.copied, "root")
    copy_in(channel, mounts.shared, DESKTOP_USER)


def copy_shared_out(channel: GuestChannel, mounts: MountSet) -> None:
    """Copy the read-write mounts back: new and changed files; what the world deleted stays on the host."""
    deadline = Deadline.after(_COPY_S)
    for source, target in mounts.shared:
        if source.is_dir():
            channel.get_tree(target, source, deadline=deadline)
        else:
            channel.get_file(target, source, deadline=deadline)
