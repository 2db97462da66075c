"""The terminal of whoever started the run: an episode's process has none of its own."""

from __future__ import annotations

import os
from pathlib import Path

_MOST_ANCESTORS = 30
_FIRST_PTS_MAJOR, _LAST_PTS_MAJOR = 136, 143
"""Source: Linux's list of devices (Unix98 pseudo-terminals)."""


def terminal_of_ancestors() -> str | None:
    """Return the terminal of this process or of the nearest ancestor that has one, or None."""
    pid = os.getpid()
    for _ in range(_MOST_ANCESTORS):
        try:
            words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            return None
        parent, device = int(words[1]), int(words[4])
        major, minor = os.major(device), os.minor(device)
        if _FIRST_PTS_MAJOR <= major <= _LAST_PTS_MAJOR:
            path = f"/dev/pts/{minor + 256 * (major - _FIRST_PTS_MAJOR)}"
            return path if os.access(path, os.R_OK | os.W_OK) else None
        if parent <= 1:
            return None
        pid = parent
    return None
