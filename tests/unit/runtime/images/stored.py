"""A stored image for tests: a small root file system that nobody had to build."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

from gym_anything.runtime.images.store import ROOTFS, ImageStore, StoredImage


def store_image(
    root: Path, *, name: str = "tiny", content: bytes = b"hello\n", rootfs: bytes | None = None, **facts: Any
) -> StoredImage:
    """Put an image with one file (or with a whole ``rootfs``) into a store and return it."""
    store, digest = ImageStore(root), "ab" * 32
    with store.building(name, digest):
        staging = store.staging(name, digest)
        if rootfs is None:
            with tarfile.open(staging / ROOTFS, "w") as tar:
                member = tarfile.TarInfo("./etc/motd")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        else:
            (staging / ROOTFS).write_bytes(rootfs)
        data = (staging / ROOTFS).read_bytes()
        record = {
            "name": name,
            "suite": "bookworm",
            "recipe_digest": digest,
            "rootfs_sha256": hashlib.sha256(data).hexdigest(),
            "rootfs_bytes": len(data),
            "source_date_epoch": 1735689600,
            "packages": {"base-files": "12"},
            "built_at": 1.0,
            **facts,
        }
        return store.publish(staging, record)
