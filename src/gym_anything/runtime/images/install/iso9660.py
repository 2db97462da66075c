"""Reading a file out of an ISO 9660 image: the kernel that a medium would start. Source: ECMA-119."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gym_anything.errors import SpecInvalid

_SECTOR = 2048
_VOLUME_AT = 16 * _SECTOR
_LIMIT_BYTES = 1 << 30


def read_file(image: Path, path: str) -> bytes:
    """Return the content of a file, named without regard to case, version and Rock Ridge names.

    Raises: SpecInvalid when the image is none, or has no such file.
    """
    with image.open("rb") as file:
        file.seek(_VOLUME_AT)
        volume = file.read(_SECTOR)
        if volume[:6] != b"\x01CD001":
            raise SpecInvalid(f"{image} is no ISO 9660 image", detail={"file": str(image)})
        place, size = struct.unpack_from("<I", volume, 158)[0], struct.unpack_from("<I", volume, 166)[0]
        is_folder = True
        for part in path.strip("/").split("/"):
            if not is_folder:
                raise _missing(image, path, [])
            entries = {entry[0]: entry[1:] for entry in _entries(file, place, size)}
            if part.lower() not in entries:
                raise _missing(image, path, sorted(entries))
            place, size, is_folder = entries[part.lower()]
        if is_folder or size > _LIMIT_BYTES:
            raise _missing(image, path, [])
        file.seek(place * _SECTOR)
        return file.read(size)


def _entries(file: BinaryIO, place: int, size: int) -> Iterator[tuple[str, int, int, bool]]:
    """Yield (name in small letters, first sector, bytes, is a folder) of a folder."""
    file.seek(place * _SECTOR)
    data = file.read(min(size, _LIMIT_BYTES))
    at = 0
    while at < len(data):
        length = data[at]
        if length == 0:  # records do not cross sectors
            at = (at // _SECTOR + 1) * _SECTOR
            continue
        begin, count = struct.unpack_from("<I", data, at + 2)[0], struct.unpack_from("<I", data, at + 10)[0]
        flags, name_length = data[at + 25], data[at + 32]
        raw = data[at + 33 : at + 33 + name_length]
        if raw not in (b"\0", b"\1"):  # the folder itself and the one above
            name = raw.decode("ascii", "replace").partition(";")[0].rstrip(".").lower()
            yield name, begin, count, bool(flags & 2)
        at += length


def _missing(image: Path, path: str, there: list[str]) -> SpecInvalid:
    listed = f"; it has: {', '.join(there[:20])}" if there else ""
    return SpecInvalid(f"{image.name} has no file {path}{listed}", detail={"file": str(image), "path": path})
