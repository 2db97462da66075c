"""A recipe of an installed image, as data: ``images/<name>/install.yaml`` with its ``answers/`` beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gym_anything._util.digest import SHARED
from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.images.prepared.manifest import NAME, checked_sha256
from gym_anything.runtime.images.recipe import recipe_root

FILE, ANSWERS = "install.yaml", "answers"
FORMAT = 1
"""Raised when the same recipe gives another image."""


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Download(_Data):
    """One file of a publisher, pinned."""

    use: Literal["cdrom", "disk", "answers"]
    """What it is for: the installation medium, a ready disk to start from, or a file for the disk with the answers."""
    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$")
    """File name that it is kept under."""
    url: str = Field(pattern=r"^https://")
    """Where the publisher has it."""
    sha256: str | None
    """Pin. None: its publisher names none, so that nobody can say what would be installed; it is refused then."""
    publisher: str
    """Where its publisher names the digest, for who checks the pin; or why there is none."""

    @field_validator("sha256")
    @classmethod
    def _digest(cls, value: str | None) -> str | None:
        return None if value is None else checked_sha256(value)


class Machine(_Data):
    """The machine that the system is installed on; its worlds have the same hardware."""

    firmware: Literal["bios", "uefi"] = "bios"
    """What starts the medium. bios: needs no further package."""
    disk: Literal["sata", "virtio"] = "virtio"
    """Bus of the disk. virtio: the quickest; sata: every system has a driver for it."""
    network: Literal["virtio", "e1000", "none"] = "virtio"
    """Network card. virtio: the quickest; e1000: every system has a driver for it."""
    disk_gib: int = Field(default=32, ge=1, le=2048)
    """Size that the system sees. 32: the file is as large as what lies in it."""
    memory_mib: int = Field(default=4096, ge=16)
    """Memory during the installation. 4096: enough for any of ours."""
    cpus: int = Field(default=4, ge=1, le=64)
    """Processors during the installation. 4."""


class Start(_Data):
    """How the installation is started."""

    key: str | None = None
    """QEMU's name of a key that is pressed while the machine starts (``press any key to boot``). None: no key."""
    key_for_s: float = Field(default=0.0, ge=0, le=300)
    """For how long, every second. 0."""
    kernel: str | None = None
    """Path of a Linux kernel on the medium, started directly instead of the medium. None."""
    initrd: str | None = None
    """Path of its first file system there. None."""
    append: str = ""
    """Command line of that kernel."""

    @model_validator(mode="after")
    def _whole(self) -> Start:
        if (self.kernel is None) != (self.initrd is None) or (self.append and self.kernel is None):
            raise ValueError("kernel and initrd belong together; append needs them")
        return self


class End(_Data):
    """How one knows that the installation is done."""

    when: Literal["poweroff", "quiet"] = "poweroff"
    """poweroff: the system switches itself off. quiet: it waits for a person at its end; the disk is at rest then."""
    quiet_s: float = Field(default=180.0, gt=0)
    """Of ``quiet``: for how long nothing was written. 180: installers pause for a minute."""
    least_mib: int = Field(default=64, ge=1)
    """What must have been written; less is no installation. 64."""
    limit_min: float = Field(default=120.0, gt=0)
    """The longest it may take. 120: Windows on a slow disk."""


class InstallRecipe(_Data):
    """One image that a system installs itself into."""

    name: str = Field(pattern=NAME)
    """Name of the image, and of the recipe's folder."""
    about: str
    """One sentence for people."""
    os: Literal["windows", "android", "linux"]
    """What is installed."""
    file: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*\.qcow2$")
    """File name of the image, as presets write it."""
    downloads: tuple[Download, ...]
    """What is needed of publishers."""
    machine: Machine = Machine()
    """See ``Machine``."""
    answers: Literal["none", "usb", "cidata"] = "none"
    """Where the files of ``answers/`` are shown: on a USB stick, or on a disk that cloud-init looks for."""
    start: Start = Start()
    """See ``Start``."""
    end: End = End()
    """See ``End``."""
    run: str
    """Where the installation has been run from end to end, for people; ``nowhere`` is an honest answer."""
    folder: Path
    """The recipe's folder on this host."""

    @model_validator(mode="after")
    def _has_one_medium(self) -> InstallRecipe:
        uses = [download.use for download in self.downloads]
        if uses.count("cdrom") + uses.count("disk") != 1:
            raise ValueError("one download is the medium: use cdrom or disk")
        if (self.answers == "none") == (self.folder / ANSWERS).is_dir():
            raise ValueError(f"a folder {ANSWERS}/ belongs to answers: usb or cidata")
        if "answers" in uses and self.answers == "none":
            raise ValueError("a download for the answers needs a disk with answers")
        return self

    @property
    def medium(self) -> Download:
        """The download that the machine starts from."""
        return next(download for download in self.downloads if download.use != "answers")

    def answer_files(self) -> Iterator[tuple[str, Path]]:
        """Yield (path on the disk with the answers, host file), sorted."""
        folder = self.folder / ANSWERS
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield path.relative_to(folder).as_posix(), path

    def digest(self) -> str:
        """Return the SHA-256 of all that decides over an installation."""
        parts = self.model_dump(mode="json", exclude={"about", "run", "folder"}) | {"format": FORMAT}
        parts["answer_files"] = [[name, SHARED.file(path).hex()] for name, path in self.answer_files()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def install_recipe_names(root: Path | None = None) -> list[str]:
    """Return the recipes of installed images."""
    return sorted(path.parent.name for path in (root or recipe_root()).glob(f"*/{FILE}"))


def load_install_recipe(name: str, root: Path | None = None) -> InstallRecipe:
    """Return a recipe. Raises: SpecNotFound that lists what exists; SpecInvalid naming file and key."""
    folder = (root or recipe_root()) / name
    file = folder / FILE
    if not file.is_file():
        known = ", ".join(install_recipe_names(root)) or "none"
        raise SpecNotFound(f"there is no recipe {name!r} of an installed image; there are: {known}")
    try:
        data: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SpecInvalid(f"{file} cannot be read as YAML: {error}", detail={"file": str(file)}) from error
    if not isinstance(data, dict):
        raise SpecInvalid(f"{file} must hold keys and values", detail={"file": str(file)})
    try:
        return InstallRecipe.model_validate({**data, "name": name, "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SpecInvalid(f"{file}: {key}: {first['msg']}", detail={"file": str(file), "key": key}) from error
