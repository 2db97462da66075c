"""Finding what a test's processes left: all of them inherit a variable that the test sets."""

from __future__ import annotations

import os
from pathlib import Path


def processes_with(name: str, value: str) -> list[int]:
    """Return the ids of other processes, zombies aside, that have ``name=value`` in their environment."""
    wanted = f"{name}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it ended meanwhile, or it is none of ours
    return found
