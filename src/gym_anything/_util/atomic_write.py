"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def new_file(path: Path, *, mode: int | None = None, durable: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write that becomes ``path`` at the end of the block.

    A reader sees the old content or the new one, never a part. When the block raises, nothing is left behind.

    Args:
        mode: exactly this, whatever the umask; None: what the umask leaves, as for any new file.
        durable: also wait until the content has reached the disk, so that it survives a power cut.
    """
    part = path.with_name(f".{path.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        # A file object closes itself also when an interrupt arrives before the next line.
        with open(part, "xb", opener=_private if mode is not None else None) as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def write_bytes(path: Path, data: bytes, *, mode: int | None = None, durable: bool = False) -> None:
    """Write ``path`` whole or not at all; see ``new_file``."""
    with new_file(path, mode=mode, durable=durable) as file:
        file.write(data)


def write_text(path: Path, text: str, *, mode: int | None = None, durable: bool = False) -> None:
    """Write text as UTF-8 with its newlines as they are; see ``new_file``."""
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


def write_json(path: Path, value: Any, *, mode: int | None = None, durable: bool = False) -> None:
    """Write a JSON document with sorted keys and a final newline; NaN is refused. See ``new_file``."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
