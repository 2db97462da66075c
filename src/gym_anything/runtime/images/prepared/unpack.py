"""Taking one image out of an archive of strangers: nothing else is written, and nothing outside one file."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from gym_anything.errors import HostError, SpecInvalid
from gym_anything.runtime.images.prepared.download import Progress, is_full, no_progress, no_room, require_room

_CHUNK_BYTES = 1 << 20
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError, RuntimeError)
"""RuntimeError: what ``zipfile`` raises for a member that is encrypted, or packed in a way that it does not know."""


def unpack_image(
    archive: Path, target: Path, *, wanted: str | None, limit: int | None = None, progress: Progress = no_progress
) -> tuple[str, str]:
    """Write the image in an archive to ``target``; return its name in there and its SHA-256.

    Args:
        wanted: file name of the image; None: the archive's only disk image (``.qcow2``, ``.img``, ``.raw``, ``.iso``).
        limit: the most bytes the image may have; None: what the archive itself says, as far as there is room.
    Raises: SpecInvalid (broken archive, unsafe or no such member, larger than ``limit``), HostError (no room).
        ``target`` is then to be removed by the caller.
    """
    try:
        with _opened(archive) as members:
            name = _choose(list(members.names), wanted, archive)
            size = members.names[name]
            if limit is not None and size > limit:
                raise SpecInvalid(f"{archive.name}: {name} has {size} bytes, its pin says {limit}")
            require_room(target.parent, size, for_what=name)
            with members.open(name) as source:
                return name, _write(source, target, size, progress)
    except _BROKEN as error:
        raise SpecInvalid(f"{archive.name} is no whole archive: {error}", detail={"file": str(archive)}) from error


class _Zip:
    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self.names = {_safe(info.filename, file.filename): info.file_size for info in self._regular()}

    def _regular(self) -> Iterator[zipfile.ZipInfo]:
        for info in self._file.infolist():
            _safe(info.filename, self._file.filename)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind and kind not in (stat.S_IFREG, stat.S_IFDIR):
                raise _unsafe(info.filename, self._file.filename)
            if not info.is_dir():
                yield info

    def open(self, name: str) -> IO[bytes]:
        return self._file.open(name)


class _Tar:
    def __init__(self, file: tarfile.TarFile) -> None:
        self._file = file
        self.names: dict[str, int] = {}
        for member in file:
            name = _safe(member.name, file.name)
            if member.isreg():
                self.names[name] = member.size
            elif not member.isdir():
                raise _unsafe(member.name, file.name)

    def open(self, name: str) -> IO[bytes]:
        content = self._file.extractfile(name)
        assert content is not None  # it is a regular file
        return content


@contextmanager
def _opened(archive: Path) -> Iterator[_Zip | _Tar]:
    if archive.suffix.lower() == ".zip" or zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            yield _Zip(file)
    else:
        with tarfile.open(archive) as tar:
            yield _Tar(tar)


def _safe(name: str, archive: object) -> str:
    """Return a member's name. Raises: SpecInvalid for one that would lie outside, or whose name hides something."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or name[1:2] == ":":
        raise _unsafe(name, archive)
    return name


def _unsafe(name: str, archive: object) -> SpecInvalid:
    return SpecInvalid(
        f"{Path(str(archive)).name} holds {name!r}: a path outside, a link or a device; nothing was unpacked",
        detail={"file": str(archive), "member": name},
    )


def _choose(names: list[str], wanted: str | None, archive: Path) -> str:
    if wanted is not None:
        found = [name for name in names if PurePosixPath(name).name == wanted]
        what = f"no single file {wanted!r}"
    else:
        found = [name for name in names if name.lower().endswith((".qcow2", ".img", ".raw", ".iso"))]
        what = "no single disk image"
    if len(found) != 1:
        listed = ", ".join(names[:10]) or "nothing"
        raise SpecInvalid(f"{archive.name} holds {what}; it holds: {listed}", detail={"file": str(archive)})
    return found[0]


def _write(source: IO[bytes], target: Path, size: int, progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
    with target.open("xb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            done += len(chunk)
            if done > size:
                raise SpecInvalid(f"{target.name} is larger than its archive says")
            digest.update(chunk)
            try:
                file.write(chunk)
                file.flush()
            except OSError as error:
                if is_full(error):
                    raise no_room(target.parent, f"{done >> 20} of {size >> 20} MiB were unpacked") from error
                raise HostError(f"{target} cannot be written: {error}", detail={"path": str(target)}) from error
            progress("unpacking", done, size)
    if done != size:
        raise SpecInvalid(f"{target.name} is shorter than its archive says")
    return digest.hexdigest()
