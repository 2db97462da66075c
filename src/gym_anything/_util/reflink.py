"""Copies that share their blocks, where the file system can (Btrfs, XFS); real copies elsewhere."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

_FICLONE = 0x40049409
_CANNOT = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.ETXTBSY}


def clone_file(source: Path, target: Path) -> bool:
    """Make ``target`` a clone of ``source`` that shares its blocks; tell whether the file system could.

    When it could not, there is no ``target``. Raises: FileExistsError; OSError of the disk.
    """
    with source.open("rb") as reader:
        mode = os.fstat(reader.fileno()).st_mode & 0o7777
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.ioctl(fd, _FICLONE, reader.fileno())
                os.fchmod(fd, mode)
            finally:
                os.close(fd)
        except OSError as error:
            target.unlink(missing_ok=True)
            if error.errno in _CANNOT:
                return False
            raise
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    return True


def copy_file(source: Path, target: Path) -> bool:
    """Clone a file, or copy it with its holes kept; tell whether it was a clone. Raises: FileExistsError; OSError."""
    if clone_file(source, target):
        return True
    try:
        with source.open("rb") as reader, target.open("xb") as writer:
            _copy_data(reader.fileno(), writer.fileno())
            os.fchmod(writer.fileno(), os.fstat(reader.fileno()).st_mode & 0o7777)
    except FileExistsError:
        raise
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return False


def can_clone(folder: Path) -> bool:
    """Try it: clone a small file in this folder and remove both."""
    name = f".reflink-{os.getpid()}-{os.urandom(4).hex()}"
    source, target = folder / name, folder / f"{name}.clone"
    try:
        source.write_bytes(b"x" * 4096)
        return clone_file(source, target) and target.read_bytes() == source.read_bytes()
    finally:
        source.unlink(missing_ok=True)
        target.unlink(missing_ok=True)


def _copy_data(source: int, target: int) -> None:
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    position = 0
    while position < size:
        try:
            position = os.lseek(source, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        end = os.lseek(source, position, os.SEEK_HOLE)
        while position < end:
            copied = _copy_part(source, target, position, end - position)
            if copied == 0:
                return
            position += copied


def _copy_part(source: int, target: int, at: int, size: int) -> int:
    """Copy up to ``size`` bytes within the kernel and return how many it were."""
    try:
        return os.copy_file_range(source, target, size, at, at)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    os.lseek(target, at, os.SEEK_SET)  # two kinds of file systems, such as memory and a disk
    return os.sendfile(target, source, at, size)
