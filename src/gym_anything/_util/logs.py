"""Log files and the package's logger."""

from __future__ import annotations

import logging
import os
from pathlib import Path

_LOGGER = "gym_anything"
_TAIL_BYTES_PER_LINE = 400


def logger(name: str) -> logging.Logger:
    """Return the logger of a module, below ``gym_anything``; quiet unless the application configures logging."""
    root = logging.getLogger(_LOGGER)
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return root.getChild(name.removeprefix(f"{_LOGGER}."))


def tail(path: Path, lines: int = 20) -> str:
    """Return the last lines of a text file, for a diagnosis; empty when there is no such file.

    Reads at most some kilobytes from its end, whatever its size, and replaces what is not UTF-8.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        size = os.fstat(fd).st_size
        wanted = min(size, lines * _TAIL_BYTES_PER_LINE)
        data = os.pread(fd, wanted, size - wanted)
    except OSError:
        return ""
    finally:
        os.close(fd)
    text = data.decode("utf-8", "replace").rstrip()
    return "\n".join(text.splitlines()[-lines:])
