"""Where our C programs lie, built from exactly the sources that this version ships."""

from __future__ import annotations

import os
from pathlib import Path

from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native import programs

_found: dict[tuple[str, Path], Path] = {}


def cache_folder() -> Path:
    """Return the folder of builds: ``$XDG_CACHE_HOME/gym-anything/native``, by default below ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gym-anything" / "native"


def cached_program(name: str, digest: str) -> Path:
    """Return where a build of these sources is or would be."""
    return cache_folder() / f"{digest[:32]}-{programs.machine()}" / name


def bundled_program(name: str, digest: str) -> Path | None:
    """Return the build that came with the wheel, if it is one of these sources and this architecture."""
    folder = programs.PACKAGE / "_native" / "bin"
    try:
        recorded = (folder / f"{name}.digest").read_text().strip()
    except OSError:
        return None
    return folder / name if recorded == f"{digest} {programs.machine()}" and (folder / name).is_file() else None


def find_program(name: str) -> Path | None:
    """Return a build of exactly these sources, or None. Never builds."""
    digest = programs.source_digest(programs.source_root(), name)
    found = bundled_program(name, digest) or cached_program(name, digest)
    return found if os.access(found, os.X_OK) else None


def native_program(name: str) -> Path:
    """Return the path of a built program (``ga-guest``, ``ga-desktop``) made from this version's sources.

    In a source checkout, where the sources change, a missing build is made (some seconds, once per change). What was
    found is remembered for the life of the process.

    Raises: NativeProgramMissing, with the command that builds it.
    """
    key = (name, cache_folder())
    known = _found.get(key)
    if known is None or not os.access(known, os.X_OK):
        known = _found[key] = _find_or_build(name)
    return known


def _find_or_build(name: str) -> Path:
    root = programs.source_root()
    if name not in programs.program_names(root):
        raise NativeProgramMissing(f"there is no native program {name!r}; known: {programs.program_names(root)}")
    found = find_program(name)
    if found is not None:
        return found
    if programs.is_checkout():
        from gym_anything.runtime.native.build import build_native

        return build_native([name])[name]
    raise NativeProgramMissing(
        f"the native program {name!r} is not built; run: gym-anything doctor --fix",
        detail={"program": name, "fix": "gym-anything doctor --fix"},
    )
