"""The content digest of a task: the same on every machine that holds the same files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

PREFIX = "sha256:"
_GENERATED_FOLDERS = frozenset({"__pycache__"})
_GENERATED_SUFFIXES = (".pyc", ".pyo")


def task_digest(task_dir: str | Path) -> str:
    """Return ``sha256:<hex>`` over a task folder's files.

    Each file in order of its path *components* adds: its UTF-8 path relative to the folder (``/`` between the
    components), a NUL byte, and the raw SHA-256 of its content. Generated files (``__pycache__``, compiled Python)
    never count, nor do empty folders, modes and times. A link to a file counts as that file; a link to a folder is not
    followed.

    Raises: OSError when a file cannot be read.
    """
    root = Path(task_dir)
    total = hashlib.sha256()
    for parts in content_files(root):
        total.update(os.fsencode("/".join(parts)) + b"\0")
        with root.joinpath(*parts).open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return PREFIX + total.hexdigest()


def content_files(root: Path) -> list[tuple[str, ...]]:
    """Return the path components of every file that counts, in digest order."""
    found: list[tuple[str, ...]] = []
    for folder, subfolders, files in os.walk(root, onerror=_raise):
        subfolders[:] = [name for name in subfolders if name not in _GENERATED_FOLDERS]
        parts = Path(folder).relative_to(root).parts
        found += [(*parts, name) for name in files if _counts(Path(folder) / name)]
    return sorted(found)


def _counts(file: Path) -> bool:
    # Sockets and pipes hold no content; a dangling link has none either.
    return file.suffix not in _GENERATED_SUFFIXES and file.is_file()


def _raise(error: OSError) -> None:
    raise error
