"""How a path in the guest is written, per operating system."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def is_absolute_guest_path(path: str) -> bool:
    """Tell whether ``path`` is absolute in some guest: ``/…``, ``C:\\…`` or ``C:/…``."""
    return path.startswith("/") or bool(_DRIVE.match(path))


def canonical_guest_path(path: str, os_type: str) -> str:
    r"""Return the one spelling of a guest path.

    Windows content says ``C:\workspace\x`` in hooks and ``/workspace/x`` in mounts; both reach the same folder, so on
    Windows ``/workspace/x`` becomes ``C:\workspace\x``. Elsewhere the path stays, without doubled or trailing slashes.

    Args:
        path: absolute guest path.
        os_type: ``linux``, ``windows``, ``android`` or ``macos``.
    """
    if os_type == "windows":
        tail = path[2:] if _DRIVE.match(path) else path
        drive = path[0].upper() if _DRIVE.match(path) else "C"
        parts = [p for p in re.split(r"[\\/]+", tail) if p]
        return f"{drive}:\\" + "\\".join(parts)
    parts = [p for p in path.split("/") if p]
    return "/" + "/".join(parts)
