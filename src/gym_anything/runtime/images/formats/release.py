"""An image as a release: what ``gym-anything image import`` takes, to be put on a web server or a mirror as it is.

A folder with the root file system in a zip, ``image.json`` (both pins, the build's record), ``SHA256SUMS`` and the list
of packages. Every published build is a release of its own; files are never replaced.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from gym_anything._util import atomic_write
from gym_anything._util.ascii_names import random_name
from gym_anything._util.digest import SHARED
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import SpecInvalid
from gym_anything.runtime.images.prepared.manifest import MANIFEST, Asset, Manifest
from gym_anything.runtime.images.store import ROOTFS, StoredImage

SUMS, PACKAGES = "SHA256SUMS", "packages.txt"
_CHUNK_BYTES = 4 << 20
_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The one time that every file in a zip of ours has."""
_NOT_OF_THE_CONTENT = ("built_at", "took_s", "pins", "imported_from")


def write(image: StoredImage, out: Path) -> None:
    """Write the folder, whole or not at all. Takes minutes for a desktop. Raises: SpecInvalid (``out`` is there)."""
    if out.exists() and not (out / MANIFEST).is_file():
        raise SpecInvalid(f"{out} is there and is no release; name another --output", detail={"path": str(out)})
    partial = out.with_name(random_name(f".{out.name}-", 6))
    partial.mkdir(mode=0o755)
    try:
        archive = partial / f"{image.name}-{image.digest[:12]}.zip"
        _zip(image.rootfs, archive)
        record = {key: value for key, value in image.record.items() if key not in _NOT_OF_THE_CONTENT}
        packages = "".join(f"{name} {version}\n" for name, version in image.record["packages"].items())
        atomic_write.write_text(partial / PACKAGES, packages, mode=0o644)
        manifest = Manifest(
            name=image.name,
            version=image.digest[:12],
            about=str(image.record.get("about", "")),
            kind="rootfs",
            archive=Asset(file=archive.name, sha256=SHARED.file(archive).hex(), bytes=archive.stat().st_size),
            image=Asset(file=ROOTFS, sha256=image.digest, bytes=image.rootfs.stat().st_size),
            record=record,
        )
        document = json.loads(manifest.model_dump_json(exclude_none=True))
        atomic_write.write_json(partial / MANIFEST, document, mode=0o644)
        names = sorted(path.name for path in partial.iterdir())
        sums = "".join(f"{SHARED.file(partial / name).hex()}  {name}\n" for name in names)
        atomic_write.write_text(partial / SUMS, sums, mode=0o644)
        if out.exists():
            remove_tree(out)
        partial.rename(out)
    finally:
        if partial.exists():
            remove_tree(partial)


def check(image: StoredImage, out: Path) -> list[str]:
    """Return what is wrong with such a folder; ``[]`` when it is what was written."""
    problems = []
    for line in (out / SUMS).read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        try:
            found = SHARED.file(out / name).hex()
        except OSError as error:
            problems.append(f"{out / name} cannot be read: {error}")
            continue
        if found != digest:
            problems.append(f"{out / name} has the digest {found}, {SUMS} says {digest}")
    return problems


def _zip(rootfs: Path, target: Path) -> None:
    member = zipfile.ZipInfo(ROOTFS, _OLDEST)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o100644 << 16
    with (
        zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as file,
        file.open(member, "w", force_zip64=True) as content,
        rootfs.open("rb") as source,
    ):
        while chunk := source.read(_CHUNK_BYTES):
            content.write(chunk)
