"""The formats an image can be written in, by name; each module is imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import cast

from gym_anything.errors import SpecNotFound
from gym_anything.runtime.images.store import StoredImage

Write = Callable[[StoredImage, Path], None]
Check = Callable[[StoredImage, Path], list[str]]

_APPTAINER = "gym_anything.runtime.images.formats.apptainer"
FORMATS: dict[str, tuple[str, str]] = {
    "apptainer-sandbox": (f"{_APPTAINER}:write_sandbox", ".sandbox"),
    "apptainer-sif": (f"{_APPTAINER}:write_sif", ".sif"),
    "docker-archive": ("gym_anything.runtime.images.formats.docker_archive:write", ".docker.tar"),
    "qcow2": ("gym_anything.runtime.images.formats.qcow2:write", ".qemu"),
    "release": ("gym_anything.runtime.images.formats.release:write", ".release"),
}
"""Name to (where its ``write(image, out)`` lives, how such a file's name ends). The root file system itself is none.

A module may have a ``check(image, out)``, too, which says what is wrong with what was written.
"""


def writer(name: str) -> tuple[Write, str]:
    """Return a format's function and file ending. Raises: SpecNotFound that lists the formats."""
    if name not in FORMATS:
        raise SpecNotFound(f"there is no image format {name!r}; there are: {', '.join(sorted(FORMATS))}")
    locator, ending = FORMATS[name]
    module, _, attribute = locator.partition(":")
    return cast(Write, getattr(importlib.import_module(module), attribute)), ending


def written(image: StoredImage) -> dict[str, Path]:
    """Return the formats that lie beside an image's root file system."""
    places = {name: image.path / f"{image.name}{ending}" for name, (_, ending) in FORMATS.items()}
    return {name: path for name, path in sorted(places.items()) if path.exists()}


def checker(name: str) -> Check | None:
    """Return what checks a format; None for one that says nothing of its content (apptainer's own)."""
    module = importlib.import_module(FORMATS[name][0].partition(":")[0])
    return cast("Check | None", getattr(module, "check", None))
