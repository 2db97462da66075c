"""Which disk image and which firmware a machine with Windows or Android starts from: the user's own files."""

from __future__ import annotations

from pathlib import Path

from gym_anything.errors import MissingDependency, SpecNotFound
from gym_anything.runtime.images.prepared.store import PreparedStore
from gym_anything.runtime.qemu.cache import CACHE, cache_root
from gym_anything.runtime.qemu.other_machine_spec import OtherFamily

DEFAULT_IMAGES: dict[OtherFamily, str] = {"windows": "base_windows_11.qcow2", "android": "base_android_14.qcow2"}
_FOLDERS = ("usr/share/OVMF", "usr/share/edk2/x64", "usr/share/qemu")
_PAIRS = (
    ("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"),
    ("OVMF_CODE.fd", "OVMF_VARS.fd"),
    ("OVMF_CODE.4m.fd", "OVMF_VARS.4m.fd"),
)
_FIX = "apt-get install --no-install-recommends ovmf"


def image_path(name: str) -> Path:
    """Return where an image is, or should be: an absolute path as it is, else in the cache of QEMU worlds."""
    path = Path(name).expanduser()
    return path if path.is_absolute() else cache_root() / path


def existing_image(name: str, family: OtherFamily) -> Path:
    """Return the path of an image: the file of that name, else what was installed or imported under it.

    Raises: MissingDependency that says where it should be and how it comes there.
    """
    path = image_path(name)
    if path.is_file():
        return path
    try:
        return PreparedStore().named(name).path
    except SpecNotFound as error:
        system = family.capitalize()
        fix = (
            f"make one (docs/how-to/images.md), import one (gym-anything image import URL --sha256 DIGEST), put a "
            f"qcow2 image there, name another by runner_options.image, or set {CACHE.name}"
        )
        message = f"there is no image of {system} at {path}, and none named {name!r} was imported. Fix: {fix}"
        raise MissingDependency(message, detail={"fix": fix}) from error


def firmware_files(roots: tuple[Path, ...]) -> tuple[Path, Path]:
    """Return UEFI's program and its settings as they are before a first start.

    Args: roots: where to look, in order: this host's root, an image's.
    Raises: MissingDependency with the fix.
    """
    for root in roots:
        for folder in _FOLDERS:
            for code, variables in _PAIRS:
                found = root / folder / code, root / folder / variables
                if all(path.is_file() for path in found):
                    return found
    raise MissingDependency(f"UEFI for QEMU (OVMF) is not installed. Fix: {_FIX}", detail={"fix": _FIX})
