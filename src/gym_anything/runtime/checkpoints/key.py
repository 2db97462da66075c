"""The key of a checkpoint: a digest of the content of everything that shaped the world up to its level."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything._util.digest import SHARED, sha256_tree
from gym_anything.runtime.checkpoints.levels import LEVELS, PER_TASK, CheckpointName

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec

KEY_FORMAT = 1
"""Raised when the meaning of a key changes: older checkpoints are then simply not found."""

_SHAPING_FIELDS = (
    "image", "dockerfile", "entrypoint", "apptainer", "resources", "user_accounts", "os_type", "avd", "display_backend",
    "input_backend", "audio_backend", "skip_display_audio_bootstrap",
)  # fmt: skip
"""Fields of a spec that shape what is on a world's disk. Descriptions, limits and recording do not."""
_SHAPING_SECURITY = ("user", "privileged", "use_systemd", "runtime")


@dataclass(frozen=True)
class KeyMaterial:
    """What a key is made of, kept beside the checkpoint so that a difference can be named."""

    parts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Return 40 hexadecimal digits."""
        canonical = json.dumps(self.parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:40]

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """Return the dotted names of the parts in which another checkpoint's material differs."""
        return sorted(_differences(self.parts, other, ""))


def key_material(
    spec: EnvSpec,
    name: CheckpointName,
    *,
    kind: str,
    facts: Mapping[str, Any] | None = None,
    volatile_options: Sequence[str] = (),
    task_digest: str | None = None,
) -> KeyMaterial:
    """Collect the content that the checkpoint depends on.

    No absolute path of the host, no secret and no read-write mount is part of it: the same content gives the same key
    wherever it lies.

    Args:
        kind: the sort of world the checkpoint can be restored in (a runner's own word).
        facts: what else the runner depends on: version of an image, of the installed software, of its disk format.
        volatile_options: dotted paths inside ``runner_options`` that belong to one episode.
        task_digest: content of the task, for ``post_task``.
    Raises: OSError when a mounted file cannot be read.
    """
    data = spec.to_dict()
    security = data.get("security") or {}
    parts: dict[str, Any] = {
        "format": KEY_FORMAT,
        "kind": kind,
        "level": name.level,
        "memory": name.memory,
        "env": [data.get("id"), str(data.get("version", ""))],
        "spec": {field: data[field] for field in _SHAPING_FIELDS if field in data},
        "security": {field: security[field] for field in _SHAPING_SECURITY if field in security},
        "screen": list(spec.screen_size or ()),
        "options": without_paths(spec.runner_options, volatile_options),
        "hooks": _hooks(spec, name.level),
        "mounts": mounts_content(spec),
        "facts": dict(facts or {}),
    }
    if name.level == PER_TASK:
        parts["task"] = [name.task_id, task_digest or ""]
    return KeyMaterial(parts)


def _hooks(spec: EnvSpec, level: str) -> dict[str, Any]:
    """Return the hooks that ran before the level, each with the content of the host files it names."""
    stages = LEVELS[: LEVELS.index(level) + 1]
    found = {stage: getattr(spec.hooks, stage, None) for stage in stages}
    if level == PER_TASK:
        found["reset"] = spec.reset_script or spec.hooks.reset
    return {stage: {"command": text, "files": _named_files(text)} for stage, text in found.items() if text}


def _named_files(command: str) -> dict[str, str]:
    """Return file name -> digest of host files that the command line names outright (not through a mount)."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    files = [Path(word) for word in words if "/" in word and len(word) < 4096 and "\0" not in word]
    return {path.name: _digest(path) for path in files if not path.is_absolute() and path.is_file()}


def mounts_content(spec: EnvSpec) -> dict[str, str]:
    """Return guest path -> digest of what is mounted there read-only; a missing source counts as such."""
    content = {}
    for mount in spec.mounts:
        if mount.mode != "rw":
            source = Path(mount.source).expanduser()
            content[mount.target] = _digest(source)
    return content


def _digest(path: Path) -> str:
    if path.is_dir():
        return sha256_tree(path)
    return f"sha256:{SHARED.file(path).hex()}" if path.exists() else "missing"


def without_paths(options: Mapping[str, Any], dotted: Sequence[str]) -> dict[str, Any]:
    """Return the options without the entries at these dotted paths (``service_network.id``)."""
    result = {key: dict(value) if isinstance(value, Mapping) else value for key, value in options.items()}
    for path in dotted:
        head, _, rest = path.partition(".")
        if not rest:
            result.pop(head, None)
        elif isinstance(result.get(head), Mapping):
            result[head] = without_paths(result[head], [rest])
    return result


def _differences(mine: Any, other: Any, prefix: str) -> list[str]:
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        names = {*mine, *other}
        return [item for name in names for item in _differences(mine.get(name), other.get(name), f"{prefix}.{name}")]
    return [] if mine == other else [prefix.removeprefix(".")]
