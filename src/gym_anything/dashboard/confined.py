"""Files below one folder, and nothing else: agents and verifiers write there, so names and links are outside input."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO


class NotInside(LookupError):
    """There is no such plain file or folder below the root; the text is fit for whoever asked."""


def open_file(root: Path, parts: Sequence[str]) -> BinaryIO:
    """Open a plain file below ``root`` for reading.

    Each part of the way is opened from the one before it and none may be a symbolic link, so that neither a name
    nor a link, nor one that is exchanged meanwhile, leads out. Devices, pipes and sockets are refused.
    Raises: NotInside.
    """
    if not parts:
        raise NotInside("a folder is no file")
    folder = open_folder(root, parts[:-1])
    try:
        fd = _open(parts[-1], os.O_RDONLY | os.O_NONBLOCK, folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotInside(f"{parts[-1]!r} is no plain file")
    return os.fdopen(fd, "rb")


def open_folder(root: Path, parts: Sequence[str]) -> int:
    """Open a folder below ``root``; returns its descriptor, to be closed. Raises: NotInside."""
    try:
        here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotInside(f"the experiment's folder cannot be read: {error.strerror}") from error
    for part in parts:
        try:
            below = _open(part, os.O_RDONLY | os.O_DIRECTORY, here)
        finally:
            os.close(here)
        here = below
    return here


def _open(part: str, flags: int, folder: int) -> int:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise NotInside(f"{part!r} is no name of a file")
    try:
        return os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be a name of a file"
        raise NotInside(f"{part!r} cannot be opened (links are not followed): {reason}") from error
