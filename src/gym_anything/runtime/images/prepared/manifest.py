"""What a release says of its image (``image.json``), and the pins that a person gives instead."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from gym_anything.errors import SpecInvalid

MANIFEST = "image.json"
"""Its file name in a release."""
FORMAT = 1
NAME = r"^[a-z0-9][a-z0-9.-]{0,62}$"
_SHA256 = re.compile(r"^[0-9a-f]{64}$")
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
MAX_BYTES = 1 << 20
"""A manifest is never larger."""


class Asset(BaseModel):
    """One file, pinned."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    file: str
    """File name, without a folder."""
    sha256: str
    """SHA-256 of its content, 64 hexadecimal digits (a leading ``sha256:`` is taken off)."""
    bytes: int | None = Field(default=None, gt=0)
    """Its size; None: not known before it is there."""

    @field_validator("file")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if PurePosixPath(value).name != value or not value or "\\" in value or "\0" in value:
            raise ValueError(f"{value!r} is no plain file name")
        if value.startswith(".") or value.endswith(".json"):
            raise ValueError(f"{value!r} is no name for an image")
        return value

    @field_validator("sha256", mode="before")
    @classmethod
    def _digest(cls, value: object) -> str:
        return checked_sha256(str(value))


class Manifest(BaseModel):
    """A prepared image: the archive that is downloaded, the image inside it, both pinned."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal[1] = 1
    """Version of this form."""
    name: str = Field(pattern=NAME)
    """Name of the image."""
    version: str = ""
    """Version of the release, for people."""
    about: str = ""
    """One sentence for people."""
    kind: Literal["qcow2", "raw", "iso", "rootfs"] = "qcow2"
    """A disk of a machine, an installation medium, or a root file system (tar) of ``image build``."""
    archive: Asset
    """What is downloaded: a zip or tar with the image inside, or the image itself."""
    image: Asset
    """The image as it is kept."""
    url: str | None = None
    """Where the archive lies; None: beside the manifest."""
    record: Mapping[str, Any] = {}
    """Of a root file system: the record of its build."""

    @property
    def packed(self) -> bool:
        """Tell whether the image has to be taken out of an archive."""
        return is_archive(self.archive.file)


def is_archive(name: str) -> bool:
    """Tell by its name whether a file is an archive that we take apart."""
    return name.lower().endswith(_ARCHIVES)


def checked_sha256(text: str) -> str:
    """Return a pin in its plain form. Raises: ValueError when it is none."""
    plain = text.strip().lower().removeprefix("sha256:")
    if not _SHA256.match(plain):
        raise ValueError(f"{text!r} is no SHA-256 (64 hexadecimal digits)")
    return plain


def read_manifest(data: bytes, origin: str) -> Manifest:
    """Return the manifest in some bytes. Raises: SpecInvalid that names origin and key."""
    try:
        document = json.loads(data)
    except ValueError as error:
        raise SpecInvalid(f"{origin} is no JSON document: {error}", detail={"file": origin}) from error
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "document"
        raise SpecInvalid(f"{origin}: {key}: {first['msg']}", detail={"file": origin, "key": key}) from error
