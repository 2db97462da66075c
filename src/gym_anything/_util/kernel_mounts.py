"""The mounts of this process's mount namespace below a folder, and how to detach them."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

_MNT_DETACH = 2
_UMOUNT_NOFOLLOW = 8


def mounts_below(folder: Path) -> list[Path]:
    """Return the mount points strictly below or at a folder, the innermost and latest first."""
    top = os.fsencode(folder.resolve())
    found: list[Path] = []
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        point = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), line.split(b" ")[4])
        if point == top or point.startswith(top + b"/"):
            found.append(Path(os.fsdecode(point)))
    return found[::-1]


def detach(mount: Path) -> None:
    """Take a mount off; what still uses it keeps it until it lets go. Raises: OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(mount), _MNT_DETACH | _UMOUNT_NOFOLLOW) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(mount))
