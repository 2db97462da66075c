"""A small prepared image for tests: a real qcow2 file, its archive, its manifest."""

from __future__ import annotations

import hashlib
import io
import json
import random
import struct
import zipfile
from dataclasses import dataclass
from typing import Any


def qcow2(*, size: int = 300_000, backing: int = 0, features: int = 0, seed: int = 1) -> bytes:
    """Return the header of a qcow2 image (version 3), with noise behind it."""
    header = struct.pack(">4sIQIIQ", b"QFI\xfb", 3, backing, 0, 16, 1 << 30).ljust(72, b"\0")
    header += struct.pack(">QQQII", features, 0, 0, 4, 104)
    return header + random.Random(seed).randbytes(size - len(header))


def sha256(data: bytes) -> str:
    """Return the hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a zip archive with these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


@dataclass(frozen=True)
class Prepared:
    """A release: ``files`` are its assets."""

    image: bytes
    archive: bytes
    manifest: bytes

    @property
    def files(self) -> dict[str, bytes]:
        return {"image.json": self.manifest, "ubuntu.zip": self.archive}

    @property
    def pin(self) -> str:
        return sha256(self.manifest)


def prepared(image: bytes | None = None, members: dict[str, bytes] | None = None, /, **changes: Any) -> Prepared:
    """Return a release of an image; ``changes`` replace keys of its manifest."""
    image = qcow2() if image is None else image
    archive = zipped(members or {"ubuntu.qcow2": image, "NOTES.txt": b"made here\n"})
    document = {
        "format": 1,
        "name": "ubuntu",
        "version": "1",
        "kind": "qcow2",
        "archive": {"file": "ubuntu.zip", "sha256": sha256(archive), "bytes": len(archive)},
        "image": {"file": "ubuntu.qcow2", "sha256": sha256(image), "bytes": len(image)},
        **changes,
    }
    return Prepared(image, archive, json.dumps(document).encode())
