"""Locks between processes: one file, locked by the kernel, free again the moment its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until


class FileLock:
    """An exclusive or shared lock on a path, held from construction until ``release``.

    The lock belongs to the open file, not to the process or thread: two ``FileLock`` objects exclude each other even in
    one process, and a lock may be taken in one thread and released in another. The file may be removed while it is
    locked (``release(remove=True)``): who waited for it then makes a new one.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    @classmethod
    def acquire(
        cls, path: Path, *, deadline: Deadline, shared: bool = False, aborted: Callable[[], bool] = lambda: False
    ) -> FileLock:
        """Wait for the lock. The file is made when missing, its folder is not.

        Raises: DeadlineExceeded that names the holder when it is known; Aborted when ``aborted`` says so.
        """

        def attempt() -> FileLock | None:
            return cls.try_acquire(path, shared=shared)

        lock = wait_until(
            attempt, deadline=deadline, awaited=f"lock {path}", status=lambda: _holder(path), aborted=aborted
        )
        assert lock is not None
        return lock

    @classmethod
    def try_acquire(cls, path: Path, *, shared: bool = False) -> FileLock | None:
        """Take the lock at once, or return ``None`` when another holds it."""
        operation = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, operation)
                if _same_file(fd, path):
                    if not shared:
                        os.ftruncate(fd, 0)
                        os.pwrite(fd, f"pid {os.getpid()}\n".encode(), 0)
                    return cls(path, fd)
            except BlockingIOError:
                os.close(fd)
                return None
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)  # the file was removed while we opened it: lock its successor

    @property
    def held(self) -> bool:
        """Tell whether this object still holds its lock."""
        return self._fd is not None

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; twice is harmless. ``remove`` deletes the file first."""
        fd, self._fd = self._fd, None
        if fd is None:
            return
        try:
            if remove and _same_file(fd, self.path):
                self.path.unlink(missing_ok=True)
        finally:
            os.close(fd)

    def forget(self) -> None:
        """In a forked child: close our copy. The parent keeps its lock."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


def _same_file(fd: int, path: Path) -> bool:
    try:
        there = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _holder(path: Path) -> str:
    try:
        return f"held by {path.read_text(encoding='utf-8', errors='replace').strip() or 'another process'}"
    except OSError:
        return ""
