"""From what a person names (a release, a mirror, a file) to what is to be had from where, with every pin."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.images.prepared.download import fetch_small
from gym_anything.runtime.images.prepared.manifest import (
    MANIFEST,
    MAX_BYTES,
    NAME,
    Asset,
    checked_sha256,
    is_archive,
    read_manifest,
)

KINDS = {".qcow2": "qcow2", ".img": "raw", ".raw": "raw", ".iso": "iso"}
"""What an image is, by the end of its name, where no manifest says it."""


@dataclass(frozen=True)
class ImportRequest:
    """What a person asks for.

    Attributes:
        source: URL or path of an ``image.json``, of a folder that holds one (a URL ends in ``/`` then), of an
            archive or of an image.
        sha256: pin of the file that ``source`` names. Needed for a URL, and for a local file that is no manifest.
        image_sha256: pin of the image inside an archive; a manifest has it already.
        name: name to keep it under; None: what the manifest says, else the file's name.
        mirror: folder, file or URL that the archive is taken from instead; its pins stay.
    """

    source: str
    sha256: str | None = None
    image_sha256: str | None = None
    name: str | None = None
    mirror: str | None = None


@dataclass(frozen=True)
class ImportPlan:
    """What is to be had.

    Attributes:
        place: URL or path of the archive.
        pin: under which it was asked for.
        archive: what is downloaded.
        image_sha256: what the image inside must be; the archive's own where it is no archive.
        image_file: its file name; None: the archive's only image.
        image_bytes: its size, where it is known.
        kind: ``qcow2``, ``raw``, ``iso`` or ``rootfs``; None: by its file name.
        record: of a root file system, the record of its build.
    """

    name: str
    place: str
    pin: str
    archive: Asset
    image_sha256: str
    image_file: str | None = None
    image_bytes: int | None = None
    kind: str | None = None
    version: str = ""
    about: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def packed(self) -> bool:
        """Tell whether the image has to be taken out of an archive."""
        return is_archive(self.archive.file)


def request_pin(request: ImportRequest) -> str | None:
    """Return the pin of the request in its plain form. Raises: SpecInvalid when it is none."""
    return None if request.sha256 is None else _pin(request.sha256, "--sha256")


def plan_import(request: ImportRequest) -> ImportPlan:
    """Read the manifest, if there is one, and return the plan.

    Raises: SpecInvalid (a pin is missing or wrong), SpecNotFound (no such file), Unreachable.
    """
    source = _source_file(request.source)
    if PurePosixPath(_path_of(source)).suffix == ".json":
        return _of_manifest(request, source)
    return _of_pins(request, source)


def local_path(place: str) -> Path | None:
    """Return the path that a source or mirror is, or None for a URL. Raises: SpecInvalid for another scheme."""
    parts = urlsplit(place)
    if parts.scheme in ("http", "https"):
        return None
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if "://" in place:
        raise SpecInvalid(f"{place}: images come over http or https, or from a path", detail={"key": "source"})
    return Path(place).expanduser().absolute()


def local_file(path: Path) -> Path:
    """Return the path of a regular file. Raises: SpecNotFound."""
    if not path.is_file():
        raise SpecNotFound(f"{path} {'is no file' if path.exists() else 'does not exist'}", detail={"path": str(path)})
    return path


def without_secrets(place: str) -> str:
    """Return a URL without user, password and query, which may be a signature; a path as it is."""
    if local_path(place) is not None:
        return place
    parts = urlsplit(place)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _of_manifest(request: ImportRequest, source: str) -> ImportPlan:
    pin = request_pin(request)
    local = local_path(source)
    if local is None and pin is None:
        raise _unpinned(source)
    data = fetch_small(source, MAX_BYTES) if local is None else local_file(local).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if pin is not None and found != pin:
        raise wrong_digest(source, found, pin)
    manifest = read_manifest(data, source)
    if request.image_sha256 is not None and _pin(request.image_sha256, "--image-sha256") != manifest.image.sha256:
        raise wrong_digest(f"the image of {source}", manifest.image.sha256, request.image_sha256)
    if manifest.kind == "rootfs" and request.name not in (None, manifest.name):
        raise SpecInvalid(f"a root file system keeps the name of its recipe, {manifest.name}", detail={"key": "name"})
    beside = str(local.with_name(manifest.archive.file)) if local else urljoin(source, manifest.archive.file)
    place = beside if local is not None or manifest.url is None else manifest.url
    return ImportPlan(
        name=_name(request.name or manifest.name),
        place=_mirrored(place, manifest.archive.file, request.mirror),
        pin=found,
        archive=manifest.archive,
        image_sha256=manifest.image.sha256,
        image_file=manifest.image.file,
        image_bytes=manifest.image.bytes,
        kind=manifest.kind,
        version=manifest.version,
        about=manifest.about,
        record=manifest.record,
    )


def _of_pins(request: ImportRequest, source: str) -> ImportPlan:
    """Return the plan for an archive or image without a manifest."""
    file = PurePosixPath(unquote(_path_of(source))).name
    packed, suffix = is_archive(file), PurePosixPath(file).suffix.lower()
    if not packed and suffix not in KINDS:
        raise SpecInvalid(
            f"{source}: {file!r} is neither a manifest ({MANIFEST}), nor an archive (.zip, .tar, .tar.gz, .tar.xz), "
            f"nor an image ({', '.join(KINDS)})",
            detail={"file": source},
        )
    local = local_path(source)
    if local is not None:
        local_file(local)
    pin = request_pin(request)
    if pin is None:
        raise _unpinned(source)
    if packed and request.image_sha256 is None:
        fix = f"--image-sha256 DIGEST, or the release's {MANIFEST}, which has both"
        raise SpecInvalid(
            f"{source} is an archive: the image inside it needs a pin, too. Fix: {fix}", detail={"fix": fix}
        )
    image = pin if request.image_sha256 is None else _pin(request.image_sha256, "--image-sha256")
    if not packed and image != pin:
        raise wrong_digest(source, pin, image)
    stem = re.sub(r"\.(zip|qcow2|img|raw|iso|tgz|tar(\.\w+)?)$", "", file.lower())
    return ImportPlan(
        name=_name(request.name or re.sub(r"[^a-z0-9.-]+", "-", stem).strip("-.")),
        place=_mirrored(source, file, request.mirror),
        pin=pin,
        archive=Asset(file=file, sha256=pin),
        image_sha256=image,
        image_file=None if packed else file,
        kind=None if packed else KINDS[suffix],
    )


def wrong_digest(what: str, found: str, pin: str) -> SpecInvalid:
    """Return the error of something that is not what its pin says."""
    detail = {"file": what, "key": "sha256", "expected": pin, "found": found}
    return SpecInvalid(f"{what} has the SHA-256 {found}, its pin says {pin}", detail=detail)


def _source_file(source: str) -> str:
    """Return the file that a source names: in a folder, its manifest."""
    local = local_path(source)
    if local is None:
        return urljoin(source, MANIFEST) if urlsplit(source).path.endswith("/") else source
    return str(local / MANIFEST if local.is_dir() else local)


def _mirrored(place: str, file: str, mirror: str | None) -> str:
    if mirror is None:
        return place
    local = local_path(mirror)
    if local is None:
        return urljoin(mirror, file) if urlsplit(mirror).path.endswith("/") else mirror
    return str(local / file if local.is_dir() else local)


def _path_of(place: str) -> str:
    return place if local_path(place) is not None else urlsplit(place).path


def _pin(text: str, option: str) -> str:
    try:
        return checked_sha256(text)
    except ValueError as error:
        raise SpecInvalid(f"{option}: {error}", detail={"key": option}) from error


def _name(name: str) -> str:
    if not re.match(NAME, name):
        raise SpecInvalid(
            f"{name!r} is no name for an image: small letters, digits, '.' and '-'", detail={"key": "name"}
        )
    return name


def _unpinned(source: str) -> SpecInvalid:
    fix = "--sha256 DIGEST, as the publisher names it"
    return SpecInvalid(f"{source} has no pin, and nothing is taken without one. Fix: {fix}", detail={"fix": fix})
