"""Looking at a disk image of strangers before anything opens it.

A qcow2 file may name other files of the host (a backing file, an external data file), which QEMU would then read into
the guest. Source: QEMU ``docs/interop/qcow2.txt``.
"""

from __future__ import annotations

import struct
from pathlib import Path

from gym_anything.errors import SpecInvalid

_MAGIC = b"QFI\xfb"
_EXTERNAL_DATA = 1 << 2
_ISO_AT, _ISO = 0x8001, b"CD001"


def check_disk(path: Path, kind: str, *, origin: str) -> None:
    """Raise SpecInvalid when a file is not of its kind, or names other files of the host."""
    with path.open("rb") as file:
        header = file.read(104)
        if kind == "iso":
            file.seek(_ISO_AT)
            if file.read(len(_ISO)) != _ISO:
                raise _wrong(origin, "is no ISO 9660 image")
            return
    if kind != "qcow2":
        return
    if len(header) < 72 or not header.startswith(_MAGIC):
        raise _wrong(origin, "is no qcow2 image")
    (version, backing) = struct.unpack_from(">IQ", header, 4)
    if version not in (2, 3):
        raise _wrong(origin, f"is a qcow2 image of version {version}; 2 and 3 are known")
    if backing:
        raise _wrong(origin, "names a backing file of the host that it was made on; publish it flattened")
    if version == 3 and len(header) >= 80 and struct.unpack_from(">Q", header, 72)[0] & _EXTERNAL_DATA:
        raise _wrong(origin, "keeps its data in another file of the host")


def _wrong(origin: str, why: str) -> SpecInvalid:
    return SpecInvalid(f"{origin} {why}", detail={"file": origin})
