"""Tar archives of strangers, taken apart without leaving the target folder.

Python's own data filter decides where there is one. Python 3.11.2, which is Debian 12's, has none; there
``_as_data`` decides the same.
"""

from __future__ import annotations

import copy
import os
import tarfile
from pathlib import Path


def extract_data(tar: tarfile.TarFile, dest: Path) -> list[str]:
    """Extract an archive into ``dest``: files, folders and links, all owned by us.

    Returns: the names that were left out: they, or what they link to, would lie outside ``dest``, or they are devices
        or pipes.
    """
    left_out = []
    for member in tar:
        if not (_extract_filtered if hasattr(tarfile, "data_filter") else _extract_checked)(tar, member, dest):
            left_out.append(member.name)
    return left_out


def _extract_filtered(tar: tarfile.TarFile, member: tarfile.TarInfo, dest: Path) -> bool:
    try:
        tar.extract(member, dest, filter="data")
    except tarfile.FilterError:
        return False
    return True


def _extract_checked(tar: tarfile.TarFile, member: tarfile.TarInfo, dest: Path) -> bool:
    checked = _as_data(member, dest.resolve())
    if checked is not None:
        tar.extract(checked, dest)
    return checked is not None


def _as_data(member: tarfile.TarInfo, dest: Path) -> tarfile.TarInfo | None:
    """Return what may be extracted of a member, or None. Source: PEP 706, "data" filter."""
    place = dest / member.name.lstrip("/")
    if not _inside(place, dest) or not (member.isreg() or member.isdir() or _is_link(member)):
        return None
    if _is_link(member):
        target = (place.parent if member.issym() else dest) / member.linkname
        if Path(member.linkname).is_absolute() or not _inside(target, dest):
            return None
    checked = copy.copy(member)
    checked.name = member.name.lstrip("/")
    checked.uid, checked.gid, checked.uname, checked.gname = os.geteuid(), os.getegid(), "", ""
    checked.mode = _data_mode(member)
    return checked


def _data_mode(member: tarfile.TarInfo) -> int:
    if not (member.isreg() or member.islnk()):
        return 0o755
    executable = 0o755 if member.mode & 0o100 else 0o644
    return (member.mode & executable) | 0o600


def _is_link(member: tarfile.TarInfo) -> bool:
    return member.islnk() or member.issym()


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)  # resolve() would raise for a link to itself
