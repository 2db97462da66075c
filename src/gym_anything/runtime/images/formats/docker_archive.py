"""A root file system as a Docker image: the archive that ``docker load`` and apptainer's ``docker-archive:`` read.

Written without a daemon, the same bytes for the same root file system, so the image's id is the same everywhere.
Source: Docker Image Specification v1.2 ("Combined Image JSON + Filesystem Changeset Format").
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from gym_anything.runtime.images.store import StoredImage

LABEL_ROOTFS = "gym-anything.rootfs"
"""Label of the image: the digest of its root file system."""
_CHUNK_BYTES = 1 << 20
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def reference(image: StoredImage) -> str:
    """Return the name under which Docker knows the image."""
    return f"gym-anything/{image.name}:{image.digest[:12]}"


def image_config(image: StoredImage) -> bytes:
    """Return the image's configuration as JSON; its SHA-256 is the image's id."""
    import platform

    epoch = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(image.record["source_date_epoch"])))
    machine = platform.machine()
    config = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "created": epoch,
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
            "Cmd": ["/bin/bash"],
            "Labels": {LABEL_ROOTFS: image.digest},
        },
        "history": [{"created": epoch, "comment": f"gym-anything image {image.name}"}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{image.digest}"]},
    }
    return json.dumps(config, sort_keys=True, separators=(",", ":")).encode()


def archive(image: StoredImage) -> Iterator[bytes]:
    """Yield the archive in pieces; nothing but one piece is held in memory."""
    config = image_config(image)
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{image.digest}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": [reference(image)], "Layers": [layer_name]}]
    yield from _member("manifest.json", json.dumps(manifest).encode())
    yield from _member(config_name, config)
    size = image.rootfs.stat().st_size
    yield _header(layer_name, size)
    with image.rootfs.open("rb") as layer:
        while chunk := layer.read(_CHUNK_BYTES):
            yield chunk
    yield b"\0" * (-size % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE)


def write(image: StoredImage, out: Path) -> None:
    """Write the archive to a file, whole or not at all."""
    partial = out.with_name(f".{out.name}.partial")
    try:
        with partial.open("wb") as target:
            for chunk in archive(image):
                target.write(chunk)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def check(image: StoredImage, out: Path) -> list[str]:
    """Return what is wrong with an archive; ``[]`` when it is what would be written today."""
    with out.open("rb") as found:
        same = all(found.read(len(chunk)) == chunk for chunk in archive(image)) and not found.read(1)
    return [] if same else [f"{out} is not the archive of {image.rootfs}; write it again"]


def _member(name: str, content: bytes) -> Iterator[bytes]:
    yield _header(name, len(content))
    yield content + b"\0" * (-len(content) % tarfile.BLOCKSIZE)


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.PAX_FORMAT)
