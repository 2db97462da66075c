"""What a folder for the disks of replicas is good for: whether blocks are shared there, and what that costs."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.extents import cow_hint, extent_count
from gym_anything._util.reflink import can_clone

MOST_EXTENTS = 1000
"""A base in more pieces is said to be scattered: to share its blocks takes some 7 µs for each of them (scale.md)."""
SMALL_HINT = 4096
_US_PER_EXTENT = 7


@dataclass(frozen=True, slots=True)
class FolderState:
    """What was found.

    Attributes:
        shares: whether blocks are shared. cow_hint_bytes: how much a write into shared blocks takes at least; 0: as
            much as the file system chooses, None where it has no such hint.
        scattered: files of more than ``MOST_EXTENTS`` pieces, with how many they are. unread: files that could not be
            looked at.
    """

    folder: Path
    shares: bool
    cow_hint_bytes: int | None
    scattered: tuple[tuple[str, int], ...]
    unread: tuple[str, ...]

    def remarks(self) -> list[str]:
        """Return what makes disks there dearer than they need be, and what to do; none where all is well."""
        said = []
        if self.shares and self.cow_hint_bytes is not None and not 0 < self.cow_hint_bytes <= SMALL_HINT:
            chosen = "128 KiB" if self.cow_hint_bytes == 0 else f"{self.cow_hint_bytes >> 10} KiB"
            folder = shlex.quote(str(self.folder))
            said.append(
                f"Each write into shared blocks may take {chosen} of space, however little is written. For what is "
                f"made there from now on: sudo xfs_io -c 'cowextsize 4k' {folder}"
            )
        said += [
            f"{name} lies in {count} pieces: each clone of it takes some {count * _US_PER_EXTENT / 1000:.0f} ms. "
            "A new copy is whole: cp --reflink=never --sparse=always"
            for name, count in self.scattered
        ]
        return said + (
            [f"Not looked at, for want of the right to read: {', '.join(self.unread)}"] if self.unread else []
        )


def examine_folder(folder: Path) -> FolderState:
    """Clone a small file in a folder, and look how the files right in it lie. Raises: OSError."""
    shares = can_clone(folder)
    scattered, unread = [], []
    for path in sorted(folder.iterdir()):
        try:
            count = extent_count(path) if stat.S_ISREG(path.lstat().st_mode) else None
        except PermissionError:
            unread.append(path.name)
            continue
        except FileNotFoundError:
            continue  # it is gone by now
        if count is not None and count > MOST_EXTENTS:
            scattered.append((path.name, count))
    return FolderState(folder, shares, cow_hint(folder), tuple(scattered), tuple(unread))
