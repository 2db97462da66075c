"""Which C programs there are, where their sources lie, and what identifies a build of them."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from pathlib import Path

from gym_anything.errors import NativeProgramMissing

_SHARED = ("Makefile", "common")
_IGNORED_PARTS = frozenset({"build", "tests", "__pycache__"})
PACKAGE = Path(__file__).resolve().parents[2]


def source_root() -> Path:
    """Return the folder of the C sources: ``native/`` of a checkout, else the copy that the wheel ships.

    Raises: NativeProgramMissing when neither is there.
    """
    for root in (PACKAGE.parents[1] / "native", PACKAGE / "_native" / "src"):
        if (root / "Makefile").is_file() and (root / "ga-guest").is_dir():
            return root
    raise NativeProgramMissing(
        "the C sources of gym-anything are not installed; reinstall the package",
        detail={"fix": "pip install --force-reinstall gym-anything"},
    )


def is_checkout() -> bool:
    """Tell whether the sources are those of a source checkout, which change."""
    return source_root() == PACKAGE.parents[1] / "native"


def program_names(root: Path) -> list[str]:
    """Return the programs that can be built: the folders with a ``sources.mk``."""
    return sorted(path.parent.name for path in root.glob("*/sources.mk"))


def source_files(root: Path, name: str) -> Iterator[Path]:
    """Yield, in a fixed order, every file that a build of ``name`` depends on.

    Those are its folder, what all programs share, and what its ``uses.txt`` lists of another program's.
    """
    for part in (*_SHARED, name, *_lines(root / name / "uses.txt")):
        path = root / part
        found = [path] if path.is_file() else path.rglob("*")
        for file in sorted(found):
            if file.is_file() and not _IGNORED_PARTS & set(file.relative_to(root).parts) and file.suffix != ".md":
                yield file


def source_digest(root: Path, name: str) -> str:
    """Return the SHA-256 over names and contents of the sources of ``name``."""
    digest = hashlib.sha256()
    for file in source_files(root, name):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def build_packages(root: Path, name: str) -> list[str]:
    """Return the Debian packages that building ``name`` needs, as its ``packages.txt`` lists them."""
    return _lines(root / name / "packages.txt")


def optional_for(root: Path, name: str) -> str | None:
    """Return who needs ``name`` where all else works without it (``optional.txt``); None when local worlds need it."""
    return " ".join(_lines(root / name / "optional.txt")) or None


def _lines(listing: Path) -> list[str]:
    lines = listing.read_text().splitlines() if listing.is_file() else []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def machine() -> str:
    """Return the processor architecture, which is part of a build's identity."""
    return platform.machine() or "unknown"
