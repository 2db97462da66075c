"""Files that appear whole or not at all."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any


def write_bytes(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
    """Write ``path`` so that a reader sees the old content or the new one, never a part.

    The mode is exactly ``mode``, whatever the umask. On failure nothing is left behind.

    Args:
        durable: also wait until the content has reached the disk, so that it survives a power cut.
    """
    part = path.with_name(f".{path.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        # A file object closes itself also when an interrupt arrives before the next line.
        with io.FileIO(part, "x") as file:
            os.fchmod(file.fileno(), 0o600)
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def write_text(path: Path, text: str, *, mode: int = 0o644, durable: bool = False) -> None:
    """Write text as UTF-8 with its newlines as they are; see ``write_bytes``."""
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


def write_json(path: Path, value: Any, *, mode: int = 0o644, durable: bool = False) -> None:
    """Write a JSON document with sorted keys and a final newline; NaN is refused. See ``write_bytes``."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
