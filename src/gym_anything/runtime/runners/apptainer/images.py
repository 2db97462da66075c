"""Which image a spec's world is made from."""

from __future__ import annotations

import os
from pathlib import Path

from gym_anything._util.digest import SHARED
from gym_anything.errors import SpecNotFound
from gym_anything.runtime.apptainer.built_image import Image, image_at, image_of_ours
from gym_anything.runtime.apptainer.cache import image_root
from gym_anything.runtime.runners.apptainer.command import wanted
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.mounts import find_host_path

OURS = "debian-desktop"
"""The image of specs that name none: what the preset of the same name means."""


def image_of(spec: EnvSpec) -> Image:
    """Return the image of a spec: ``apptainer.sif``, ``.definition``, ``.image``, the spec's ``image``, or ours.

    Raises: MissingDependency (ours is not built; with the fix), SpecNotFound (no such file).
    """
    wish = wanted(spec)
    folder = image_root() if wish.cache_dir is None else Path(wish.cache_dir).expanduser().absolute()
    if wish.sif is not None:
        return Image(_existing(wish.sif, "apptainer.sif"))
    if wish.definition is not None:
        path = _existing(wish.definition, "apptainer.definition")
        mark = f"sha256:{SHARED.file(path).hex()}"
        return Image(folder / f"{path.stem}-{mark[7:19]}.sif", mark, str(path), fakeroot=os.geteuid() != 0)
    address = wish.image or spec.image
    if address is not None:
        return image_at(address, folder)
    return image_of_ours(OURS, folder)


def _existing(text: str, key: str) -> Path:
    path = find_host_path(text, Path.cwd()) or Path(text).expanduser().absolute()
    if not path.exists():
        raise SpecNotFound(f"{key}: {text} does not exist", detail={"key": key, "file": str(path)})
    return path
