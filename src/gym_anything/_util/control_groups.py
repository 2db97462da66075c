"""Control groups of worlds: folders of a kernel file system that outlive whoever made them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Label
from gym_anything._util.waiting import wait_until

MANIFEST_KEY = "control_groups"
"""Under which a world's manifest lists the groups it is about to make."""
_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "gym-anything."
_REMOVE_S = 10.0


def group_name(label: Label) -> str:
    """Return the name of a world's groups: its label, so that orphans can be told."""
    return _PREFIX + str(label).replace("/", ".")


def label_of(group: str) -> Label | None:
    """Read back ``group_name``; None when it is not one of ours."""
    return Label.parse(group.removeprefix(_PREFIX).replace(".", "/")) if group.startswith(_PREFIX) else None


def groups_around(listing: Path, root: Path, controllers: set[str]) -> list[Path]:
    """Return the folders of a process's groups and of those above them, outermost last, of version 1 and 2.

    Args: listing: its ``/proc/<pid>/cgroup``. root: where the groups are mounted. controllers: of version 1, which of
        its trees matter.
    Source: cgroups(7).
    """
    folders: list[Path] = []
    for line in listing.read_text().splitlines() if listing.exists() else []:
        _, names, path = line.split(":", 2)
        if names and not controllers & set(names.split(",")):
            continue
        base = root / names if names else root
        folder = base / path.lstrip("/")
        while folder != base.parent:
            folders.append(folder)
            folder = folder.parent
    return folders


def recorded(manifest: Mapping[str, Any]) -> list[Path]:
    """Return the groups a manifest lists that are there, and surely ours."""
    listed = manifest.get(MANIFEST_KEY)
    paths = [Path(str(item)) for item in listed] if isinstance(listed, list) else []
    return [path for path in paths if _ROOT in path.parents and label_of(path.name) is not None and path.is_dir()]


def remove(folder: Path) -> None:
    """Remove one group; a missing one is fine. Processes that are just being reaped hold it for some milliseconds.

    Raises: DeadlineExceeded when something still lives in it.
    """

    def removed() -> bool:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    wait_until(removed, deadline=Deadline.after(_REMOVE_S), awaited=f"the end of control group {folder.name}")
