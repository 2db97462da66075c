"""Paths of a Windows guest: specs write ``/workspace/x`` and ``C:\\workspace\\x`` for the same file. Pure."""

from __future__ import annotations

import re

DRIVE = "C:"
_DRIVE = re.compile(r"^[A-Za-z]:")


def windows_path(path: str) -> str:
    """Return a path as Windows writes it; one without a drive is on ``C:``.

    Raises: ValueError for a network path or one with characters that no file there has.
    """
    text = path.replace("/", "\\")
    if text.startswith("\\\\"):
        raise ValueError(f"{path!r} is a network path")
    drive, rest = (text[:2].upper(), text[2:]) if _DRIVE.match(text) else (DRIVE, text)
    if set(rest) & set('<>:"|?*\0\n\r'):
        raise ValueError(f"{path!r} is no path of a Windows file")
    return drive + "\\" + re.sub(r"\\+", r"\\", rest).strip("\\")


def sftp_path(path: str) -> str:
    """Return a path as Windows' OpenSSH server takes it from ``sftp``. Raises: as ``windows_path``."""
    return "/" + windows_path(path).replace("\\", "/")
