"""The folder that a world and this process share: sockets of the world, reached without following any link of its."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.open_beneath import open_beneath
from gym_anything._util.waiting import wait_until

_OPEN = 0o1777
X_SOCKETS = "x11"
_FOLDERS = {"desktop": _OPEN, "vnc": _OPEN, X_SOCKETS: _OPEN}
"""Folders in which the world's own users make sockets; on this host nobody else gets this far."""


class SharedFolder:
    """Made empty below a private folder of the host. What lies in it is the world's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o755)
        for name, mode in _FOLDERS.items():
            (path / name).mkdir()
            (path / name).chmod(mode)  # whatever the umask
        self._folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._kept: list[int] = []
        self._lock = threading.Lock()

    def put_secret(self, name: str, content: bytes) -> None:
        """Write a file that only root of the world may read; remove it as soon as it was read."""
        fd = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            os.write(fd, content)
        finally:
            os.close(fd)

    def forget_sockets(self) -> None:
        """Remove what an ended world has left, so that nobody takes it for the next one's."""
        with self._lock:
            for fd in self._kept:
                os.close(fd)
            self._kept.clear()
        for place in (self.path, *(self.path / name for name in _FOLDERS)):
            for entry in place.iterdir():
                if entry.is_symlink() or not entry.is_dir():
                    entry.unlink()

    def forget(self, name: str) -> None:
        """Remove a file; harmless when it is gone."""
        (self.path / name).unlink(missing_ok=True)

    def await_socket(
        self, name: str, *, deadline: Deadline, awaited: str, check: Callable[[], object] = lambda: None
    ) -> str:
        """Wait until a socket lies there, and return a path that means exactly it, as long as this folder is open.

        Args: check: asked between two looks; raises when the wait is over.
        Raises: DeadlineExceeded naming ``awaited``; OSError for a link.
        """

        def look() -> int | None:
            check()
            return self._open(name)

        return f"/proc/self/fd/{wait_until(look, deadline=deadline, awaited=awaited, poll_s=0.01)}"

    def _open(self, name: str) -> int | None:
        """Open and keep what lies there; None when nothing does."""
        with self._lock:
            if self._folder < 0:
                raise OSError(errno.EBADF, "the world's folder is closed")
            try:
                fd = open_beneath(self._folder, name)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return None
                raise
            self._kept.append(fd)
            return fd

    def close(self) -> None:
        """Close the descriptors; idempotent."""
        with self._lock:
            while self._kept:
                os.close(self._kept.pop())
            folder, self._folder = self._folder, -1
            if folder >= 0:
                os.close(folder)
