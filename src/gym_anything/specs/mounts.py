"""Where the files that a spec names lie on the host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gym_anything.specs.env_objects import MountMode
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.reading import absolute_path

_RECIPES = "gym_anything/presets/"
_BESIDE_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class ResolvedMount:
    """A mount with its host path.

    Attributes:
        source: absolute host path; where it was found, or, when ``missing``, where it would be beside the environment.
        target: guest path as the spec writes it; see ``guest_paths.canonical_guest_path`` for Windows.
        mode: ``ro`` or ``rw``.
        missing: nothing was found. Not an error here: running needs it, loading does not.
    """

    source: Path
    target: str
    mode: MountMode
    missing: bool


def resolve_mounts(spec: EnvSpec, env_root: str | Path) -> list[ResolvedMount]:
    """Return every mount with its host path, in the order of the spec."""
    result = []
    for mount in spec.mounts:
        found = find_host_path(mount.source, env_root)
        place = found or absolute_path(env_root) / mount.source
        result.append(ResolvedMount(place, mount.target, mount.mode, found is None))
    return result


def with_host_paths(spec: EnvSpec, env_root: str | Path) -> EnvSpec:
    """Return the spec with absolute mount sources, packages and Dockerfile: a runner does not know ``env_root``.

    What is missing keeps the place where it would be beside the environment, so that the runner's error names it.
    """
    mounts = tuple(
        mount.model_copy(update={"source": str(place.source)})
        for mount, place in zip(spec.mounts, resolve_mounts(spec, env_root), strict=True)
    )
    apks = tuple(str(find_host_path(apk, env_root) or absolute_path(env_root) / apk) for apk in spec.apks)
    changed: dict[str, object] = {"mounts": mounts} if mounts else {}
    if apks:
        changed["apks"] = apks
    if spec.dockerfile:
        changed["dockerfile"] = str(find_host_path(spec.dockerfile, env_root) or spec.dockerfile)
    return spec.model_copy(update=changed)


def find_host_path(path: str, env_root: str | Path) -> Path | None:
    """Return the absolute host path that a spec's ``path`` stands for, or None when nothing is there.

    An absolute path (or one that begins with ``~/``) is taken as it is. A relative one is searched in the
    environment's folder, then in each folder above it, then in the working folder: environments name their files from
    the root of the repository that they came from. Recipes of presets lie in this package.
    """
    wanted = Path(path).expanduser() if path.startswith("~/") else Path(path)
    root = absolute_path(env_root)
    if wanted.is_absolute():
        return wanted if exists(wanted) else None
    folders = [root, *root.parents, Path.cwd()]
    if path.startswith(_RECIPES):
        folders.append(_BESIDE_PACKAGE)
    for folder in folders:
        if exists(folder / wanted):
            return folder / wanted
    return None


def exists(path: Path) -> bool:
    """Tell whether something lies there; a name that no file can have is simply none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
