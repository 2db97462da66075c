"""From a spec file's bytes to plain data: one door for JSON and YAML."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.errors import SpecNotFound
from gym_anything.specs.json_reading import parse_json
from gym_anything.specs.problem import Problem, spec_invalid

MAX_BYTES = 16 * 1024 * 1024
"""A spec larger than this is a mistake; real ones stay below 100 kB."""
MAX_YAML_BYTES = 1024 * 1024
"""The same for YAML, which PyYAML reads slowly: about two seconds for this much."""
SUFFIXES = (".yaml", ".yml", ".json")
"""Order in which a folder's file is looked for."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file.

    Attributes:
        file: where it came from.
        data: plain JSON data (an object at the top).
        remarks: ``(key path, remark)`` for what was odd but readable.
    """

    file: Path
    data: dict[str, Any]
    remarks: tuple[tuple[str, str], ...] = ()


def read_document(file: Path, *, free_keys: tuple[str, ...] = ()) -> Document:
    """Read and parse a JSON or YAML file; its suffix decides which.

    UTF-8, with or without a byte order mark, any line ends.

    Args:
        file: the file.
        free_keys: top-level keys whose content is the author's own: a duplicate key inside them is a remark (the last
            one counts, as in every JSON reader), elsewhere it is an error.
    Raises: SpecNotFound when there is no such file; SpecInvalid for everything wrong with it.
    """
    origin = str(file)
    is_json = file.suffix == ".json"
    try:
        text = _decoded(_bytes(file, MAX_BYTES if is_json else MAX_YAML_BYTES))
        data, remarks = parse_json(text, free_keys) if is_json else (_yaml(text), [])
        if not isinstance(data, dict):
            what = "is empty" if data is None else "must be an object of keys and values at the top"
            raise Problem("", what, "start with `id: …`")
    except Problem as problem:
        raise spec_invalid(origin, [problem]) from None
    return Document(file, data, tuple(remarks))


def find_spec_file(folder: Path, stem: str) -> tuple[Path | None, list[Path]]:
    """Return the folder's ``<stem>.yaml|yml|json`` (in this order) and the other ones that are therefore not read."""
    there = [path for suffix in SUFFIXES if is_file(path := folder / f"{stem}{suffix}")]
    return (there[0], there[1:]) if there else (None, [])


def is_file(path: Path) -> bool:
    """Tell whether ``path`` is a file; a name that no file can have (too long, a NUL) is simply none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Tell whether ``path`` is a folder; a name that no folder can have is simply none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def absolute_path(path: str | Path) -> Path:
    """Return an absolute path without ``..``, so that the folders above it are really above it.

    Links are followed only where ``..`` makes that necessary: a linked folder keeps its name otherwise.
    """
    plain = Path(path).expanduser() if str(path).startswith("~/") else Path(path)
    return plain.resolve() if ".." in plain.parts else plain.absolute()


def folder_entries(folder: Path) -> list[Path]:
    """Return what a folder holds, sorted by name; nothing when it is no folder.

    Raises: SpecInvalid when it may not be read.
    """
    try:
        return sorted(folder.iterdir(), key=lambda path: path.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problem = Problem("", f"cannot be listed ({error.strerror})", "check the folder's permissions")
        raise spec_invalid(str(folder), [problem]) from None


def _yaml(text: str) -> Any:
    from gym_anything.specs.yaml_reading import parse_yaml  # most files are JSON, and PyYAML takes time to import

    return parse_yaml(text)


def _bytes(file: Path, limit: int) -> bytes:
    # O_NONBLOCK: a named pipe in the file's place must not hang the reader.
    try:
        fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise SpecNotFound(f"{file}: there is no such file", detail={"file": str(file)}) from None
    except (OSError, ValueError) as error:
        raise Problem("", f"cannot be read ({_reason(error)})", "check the file and its permissions") from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise Problem("", "is not a regular file", "put a file there")
        if info.st_size > limit:
            raise Problem("", f"has {info.st_size} bytes; {limit} is the limit", "move data into files of its own")
        with open(fd, "rb", closefd=False) as stream:
            return stream.read(limit)
    finally:
        os.close(fd)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "unknown reason") if isinstance(error, OSError) else "the name is no file name"


def _decoded(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Problem("", "is UTF-16", "save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Problem("", f"is not UTF-8 (line {line})", "save it as UTF-8") from None
