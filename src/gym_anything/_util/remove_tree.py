"""Deleting a folder without ever following it into what is not ours."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

from gym_anything.errors import HostError

_DEEPEST = 40
"""Deeper folders are first moved up into the top one: neither recursion nor open files depend on the depth."""


def remove_tree(path: Path) -> None:
    """Delete ``path`` and all below it; a missing path is fine.

    Symbolic links are removed, never followed, and another file system mounted inside is never entered: the call then
    fails with everything else removed. Folders without permissions (overlay work folders) are opened up first.

    Raises: HostError that names the first thing that could not be removed.
    """
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        failures = _Removal(parent, path).run()
        if failures and _remove_as_owner_of_subordinate_ids(path):
            failures = _Removal(parent, path).run()
    finally:
        os.close(parent)
    if failures:
        where, error = failures[0]
        raise HostError(
            f"{where} cannot be removed: {error.strerror or error}",
            detail={"path": where, "errno": error.errno, "failures": len(failures)},
        ) from error


def _remove_as_owner_of_subordinate_ids(path: Path) -> bool:
    """Try as root of a user namespace in which the ids that ``/etc/subuid`` grants us are ours, too.

    A world of an ordinary user leaves files that belong to those ids. Tells whether it was worth a try.
    """
    program = shutil.which("unshare", path="/usr/bin:/bin")
    if os.geteuid() == 0 or program is None:
        return False
    argv = [program, "--user", "--map-root-user", "--map-auto", "--", "rm", "-rf", "--one-file-system", "--", str(path)]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


class _Removal:
    def __init__(self, parent: int, path: Path) -> None:
        self._parent = parent
        self._path = path
        self._moved = False
        self._top = -1
        self._failures: list[tuple[str, OSError]] = []

    def run(self) -> list[tuple[str, OSError]]:
        try:
            info = os.stat(self._path.name, dir_fd=self._parent, follow_symlinks=False)
        except FileNotFoundError:
            return []
        self._device = info.st_dev
        self._remove(self._parent, self._path.name, str(self._path), info, 0)
        return self._failures

    def _remove(self, parent: int, name: str, shown: str, info: os.stat_result, depth: int) -> None:
        try:
            if not stat.S_ISDIR(info.st_mode):
                os.unlink(name, dir_fd=parent)
            elif info.st_dev != self._device:
                raise OSError(errno.EBUSY, "another file system is mounted there")
            elif depth >= _DEEPEST:
                os.rename(name, f"moved-{os.urandom(8).hex()}", src_dir_fd=parent, dst_dir_fd=self._top)
                self._moved = True
            else:
                self._empty(parent, name, shown, depth)
                os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError as error:
            self._failures.append((shown, error))

    def _empty(self, parent: int, name: str, shown: str, depth: int) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(name, flags, dir_fd=parent)
        except PermissionError:
            os.chmod(name, 0o700, dir_fd=parent)
            fd = os.open(name, flags, dir_fd=parent)
        try:
            if depth == 0:
                self._top = fd
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=fd):
                os.fchmod(fd, 0o700)
            self._empty_once(fd, shown, depth)
            while depth == 0 and self._moved:
                self._moved = False
                self._empty_once(fd, shown, depth)
        finally:
            os.close(fd)

    def _empty_once(self, fd: int, shown: str, depth: int) -> None:
        with os.scandir(fd) as found:
            entries = list(found)
        for entry in entries:
            self._remove(fd, entry.name, f"{shown}/{entry.name}", entry.stat(follow_symlinks=False), depth + 1)
