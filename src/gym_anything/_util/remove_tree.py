"""Deleting a folder without ever following it into what is not ours."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gym_anything.errors import HostError


def remove_tree(path: Path) -> None:
    """Delete ``path`` and all below it; a missing path is fine.

    Symbolic links are removed, never followed, and another file system mounted inside is never entered: the call then
    fails with everything else removed. Folders without permissions (overlay work folders) are opened up first.

    Raises: HostError that names the first thing that could not be removed.
    """
    try:
        top = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    failures: list[tuple[str, OSError]] = []
    try:
        try:
            info = os.stat(path.name, dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            return
        _remove_entry(top, path.name, str(path), info, info.st_dev, failures)
    finally:
        os.close(top)
    if failures:
        where, error = failures[0]
        raise HostError(
            f"{where} cannot be removed: {error.strerror or error}",
            detail={"path": where, "errno": error.errno, "failures": len(failures)},
        ) from error


def _remove_entry(
    parent: int, name: str, shown: str, info: os.stat_result, device: int, failures: list[tuple[str, OSError]]
) -> None:
    try:
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(name, dir_fd=parent)
        elif info.st_dev != device:
            raise OSError(errno.EBUSY, "another file system is mounted there")
        else:
            _empty_folder(parent, name, shown, device, failures)
            os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError as error:
        failures.append((shown, error))


def _empty_folder(parent: int, name: str, shown: str, device: int, failures: list[tuple[str, OSError]]) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        fd = os.open(name, flags, dir_fd=parent)
    try:
        with os.scandir(fd) as found:
            entries = list(found)
        if entries and not os.access(".", os.W_OK | os.X_OK, dir_fd=fd):
            os.fchmod(fd, 0o700)
        for entry in entries:
            _remove_entry(fd, entry.name, f"{shown}/{entry.name}", entry.stat(follow_symlinks=False), device, failures)
    finally:
        os.close(fd)
