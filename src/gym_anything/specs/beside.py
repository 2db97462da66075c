"""What a spec names but no file is there for: reported apart from faults, since loading needs none of it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.guest_paths import canonical_guest_path, is_absolute_guest_path
from gym_anything.specs.loading import LoadedEnv, LoadedTask
from gym_anything.specs.mounts import exists, find_host_path, resolve_mounts
from gym_anything.specs.reading import is_file

_SCRIPT_SUFFIXES = (".sh", ".bash", ".py", ".ps1", ".bat", ".cmd", ".pl", ".js")
_WORD_ENDS = re.compile(r"[\s;&|()<>\"'`]+")


@dataclass(frozen=True, slots=True)
class Missing:
    """One file or folder that a spec names and nobody put there.

    Attributes:
        file: the spec that names it.
        key: the key that names it.
        kind: ``mount``, ``apk``, ``script``, ``verifier``, ``image``, ``checklist``, ``secrets`` or ``recipe``.
        path: the path as the spec writes it.
    """

    file: str
    key: str
    kind: str
    path: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: {self.kind} {self.path} is not there"

    def as_dict(self) -> dict[str, str]:
        """Return the plain form for reports."""
        return asdict(self)


def missing_beside_env(env: LoadedEnv) -> list[Missing]:
    """Return what an environment names and cannot be found: mounts, packages, recipes, secrets, hook scripts."""
    spec, root, file = env.spec, env.root, str(env.file)
    found = [
        Missing(file, f"mounts[{i}].source", "mount", spec.mounts[i].source)
        for i, mount in enumerate(resolve_mounts(spec, root))
        if mount.missing
    ]
    for key, kind, path in _env_files(spec):
        if find_host_path(path, root) is None:
            found.append(Missing(file, key, kind, path))
    hooks = {f"hooks.{name}": getattr(spec.hooks, name) for name in ("pre_start", "post_start", "reset")}
    for key, command in {**hooks, "reset_script": spec.reset_script}.items():
        found += _missing_scripts(file, key, command, spec, root)
    return found


def missing_beside_task(env: LoadedEnv, task: LoadedTask) -> list[Missing]:
    """Return what a task names and cannot be found: hook scripts, verifiers, images, the checklist."""
    spec, file = task.spec, str(task.file)
    found = []
    commands = {
        "hooks.pre_task": spec.hooks.pre_task,
        "hooks.post_task": spec.hooks.post_task,
        "init.init_script": spec.init.init_script,
    }
    for key, command in commands.items():
        found += _missing_scripts(file, key, command, env.spec, env.root)
    for key, program in _named(spec.success.spec, "program", "success.spec"):
        if not program_exists(program, task.root, env.root):
            found.append(Missing(file, key, "verifier", program))
    for key, image in _named(spec.success.spec, "target", "success.spec"):
        if not is_file(task.root / image):
            found.append(Missing(file, key, "image", image))
    checklist = spec.success.spec.get("checklist") or "vlm_checklist.json"
    if spec.success.mode == "vlm_checklist" and not is_file(task.root / str(checklist)):
        found.append(Missing(file, "success.mode", "checklist", str(checklist)))
    return found


def program_exists(program: str, task_root: Path, env_root: Path) -> bool:
    """Tell whether ``file.py::func`` or ``pkg.mod:func`` can be found, without importing a task's code."""
    if "::" in program:
        return is_file(task_root / program.split("::")[0])
    module = program.split(":")[0]
    if not all(part.isidentifier() for part in module.split(".")):
        return False
    inside = Path(*module.split("."))
    for place in (task_root, task_root.parent, env_root, env_root / "utils"):
        if is_file(place / inside.with_suffix(".py")) or is_file(place / inside / "__init__.py"):
            return True
    try:
        return importlib.util.find_spec(module.split(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _env_files(spec: EnvSpec) -> Iterator[tuple[str, str, str]]:
    """Yield key, kind and path of the files that an environment of its own names (a preset's belong to the preset)."""
    for i, apk in enumerate(spec.apks):
        yield f"apks[{i}]", "apk", apk
    if spec.security.secrets_ref:
        yield "security.secrets_ref", "secrets", spec.security.secrets_ref
    if spec.security.seccomp_profile and "/" in spec.security.seccomp_profile:
        yield "security.seccomp_profile", "recipe", spec.security.seccomp_profile
    if spec.dockerfile and not spec.base:
        yield "dockerfile", "recipe", spec.dockerfile
    if spec.apptainer and not spec.base:
        for name in ("sif", "definition"):
            path = getattr(spec.apptainer, name)
            if path:
                yield f"apptainer.{name}", "recipe", path


def _missing_scripts(file: str, key: str, command: str | None, spec: EnvSpec, root: Path) -> list[Missing]:
    """Look up the scripts of a command line that lie in a mount; other paths are the guest's own business."""
    found = []
    for word in _WORD_ENDS.split(command or ""):
        if not word.lower().endswith(_SCRIPT_SUFFIXES) or not is_absolute_guest_path(word):
            continue
        place = _host_place(word, spec, root)
        if place is not None and not exists(place) and not _matches_some(place):
            found.append(Missing(file, key, "script", word))
    return list(dict.fromkeys(found))


def _matches_some(place: Path) -> bool:
    """Tell whether a file-name pattern (``scripts/*.sh``) has a file that it stands for."""
    return any(sign in place.name for sign in "*?[") and exists(place.parent) and any(place.parent.glob(place.name))


def _host_place(guest_path: str, spec: EnvSpec, root: Path) -> Path | None:
    """Return where a guest path lies on the host, by its innermost mount; None: in no mount."""
    wanted = PurePosixPath(_comparable(guest_path, spec))
    best: tuple[int, Path] | None = None
    for mount in resolve_mounts(spec, root):
        target = PurePosixPath(_comparable(mount.target, spec))
        if wanted.is_relative_to(target) and (best is None or len(target.parts) > best[0]):
            best = (len(target.parts), mount.source / wanted.relative_to(target))
    return best[1] if best else None


def _comparable(guest_path: str, spec: EnvSpec) -> str:
    path = canonical_guest_path(guest_path, spec.os_type)
    return path.replace("\\", "/") if spec.os_type == "windows" else path


def _named(spec: Any, name: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text under the key ``name``, at any depth (``multi`` holds other judges)."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == name and isinstance(value, str):
                yield f"{path}.{key}", value
            else:
                yield from _named(value, name, f"{path}.{key}")
    elif isinstance(spec, list):
        for i, value in enumerate(spec):
            yield from _named(value, name, f"{path}[{i}]")
