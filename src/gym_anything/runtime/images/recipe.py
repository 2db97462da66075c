"""A recipe: what goes into an image, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from gym_anything._util.digest import SHARED
from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.session.accounts import DESKTOP_USER

FORMAT = 1
"""Raised when the same recipe gives another root file system: older builds are then not found."""
FILE = "recipe.yaml"
_LISTS = ("packages", "users", "programs", "leave_out", "overlays")


class ImageUser(BaseModel):
    """An account of the image."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z_][a-z0-9_-]{0,30}$")
    """Login name."""
    uid: int = Field(ge=1, le=60_000)
    """Numeric id, of its group, too. Fixed, since files belong to it."""
    groups: tuple[str, ...] = ()
    """Further groups; one that does not exist is made."""
    password: str | None = Field(default=None, repr=False)
    """Password. None: no password login."""
    sudo: bool = False
    """May become root without a password. False."""
    shell: str = "/bin/bash"
    """Login shell. bash: what hooks and people expect."""


class Recipe(BaseModel):
    """One image. ``overlays`` are the folders laid over the root, the later ones on top."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")
    """Name of the image, and of its folder."""
    about: str
    """One sentence for people."""
    packages: tuple[str, ...] = ()
    """Debian packages, besides the essential ones; recommendations are not followed."""
    users: tuple[ImageUser, ...] = ()
    """Accounts."""
    programs: tuple[str, ...] = ()
    """Programs of ours that lie in ``/opt/gym-anything``."""
    leave_out: tuple[str, ...] = ()
    """Path patterns of package content that is not installed."""
    overlays: tuple[Path, ...] = ()
    """Host folders whose content is put into the root, owned by root."""

    @field_validator("packages")
    @classmethod
    def _package_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not name or set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789+-.") or name[0] in "+-.":
                raise ValueError(f"{name!r} is not the name of a Debian package")
        return tuple(sorted(set(value)))

    @field_validator("users")
    @classmethod
    def _has_desktop_user(cls, value: tuple[ImageUser, ...]) -> tuple[ImageUser, ...]:
        if DESKTOP_USER not in {user.name for user in value}:
            raise ValueError(f"every image has the user {DESKTOP_USER!r}")
        return value

    def digest(self, *, suite: str, programs: Mapping[str, str]) -> str:
        """Return the SHA-256 of all that decides over a build, but for the versions of the packages.

        Args: suite: the Debian release. programs: digest of each program of ours.
        """
        parts = self.model_dump(mode="json", exclude={"overlays", "about"})
        parts |= {"format": FORMAT, "suite": suite, "programs_content": dict(programs)}
        parts["passwords"] = [user.password for user in self.users]
        parts["files"] = [[target, mode, SHARED.file(path).hex()] for target, mode, path in self.files()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def files(self) -> Iterator[tuple[str, int, Path]]:
        """Yield (path in the image, mode, host file) of every overlay file, sorted, each path once."""
        found: dict[str, tuple[int, Path]] = {}
        for overlay in self.overlays:
            for path in overlay.rglob("*"):
                if path.is_file():
                    mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                    found[path.relative_to(overlay).as_posix()] = (mode, path)
        for target in sorted(found):
            yield target, *found[target]


def recipe_root() -> Path:
    """Return the folder of the recipes: ``images/`` of a checkout, else the copy that the wheel ships."""
    package = Path(__file__).resolve().parents[2]
    for root in (package.parents[1] / "images", package / "_images"):
        if root.is_dir():
            return root
    raise SpecNotFound(
        "the image recipes of gym-anything are not installed; reinstall the package",
        detail={"fix": "pip install --force-reinstall gym-anything"},
    )


def recipe_names(root: Path) -> list[str]:
    """Return the recipes there are."""
    return sorted(path.parent.name for path in root.glob(f"*/{FILE}"))


def load_recipe(name: str, root: Path | None = None) -> Recipe:
    """Return a recipe with all that it extends.

    Raises: SpecNotFound that lists what exists; SpecInvalid naming file and key.
    """
    folder = recipe_root() if root is None else root
    data = _data(name, folder, ())
    file = folder / name / FILE
    try:
        return Recipe.model_validate({**data, "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SpecInvalid(f"{file}: {key}: {first['msg']}", detail={"file": str(file), "key": key}) from error


def _data(name: str, root: Path, extended_by: tuple[str, ...]) -> dict[str, Any]:
    """Return a recipe's keys with those of the recipes below it."""
    file = root / name / FILE
    if name in extended_by or not file.is_file():
        why = "extends itself" if name in extended_by else "does not exist"
        known = ", ".join(recipe_names(root)) or "none"
        raise SpecNotFound(f"the image recipe {name!r} {why}; there are: {known}", detail={"file": str(file)})
    try:
        own = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SpecInvalid(f"{file} cannot be read as YAML: {error}", detail={"file": str(file)}) from error
    if not isinstance(own, dict):
        raise SpecInvalid(f"{file} must hold keys and values", detail={"file": str(file)})
    overlay = root / name / "files"
    own["overlays"] = [overlay] if overlay.is_dir() else []
    below = own.pop("extends", None)
    if below is None:
        return own
    base = _data(str(below), root, (*extended_by, name))
    return {**base, **own, **{key: [*(base.get(key) or ()), *(own.get(key) or ())] for key in _LISTS}}
