"""The part of a spec that a checkpoint's key is made of: content instead of the places where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gym_anything._util.digest import SHARED, sha256_tree
from gym_anything.runtime.runners.apptainer.command import wanted
from gym_anything.specs.env_spec import EnvSpec


def without_places(spec: EnvSpec) -> EnvSpec:
    """Return the spec with what lies on this host named by its content, so that a copy elsewhere has the same key.

    The image is left out: its content is a fact of its own. A bind that the world may write to counts by its target
    alone, as a read-write mount does. Raises: OSError for what cannot be read.
    """
    wish = wanted(spec)
    change = {
        "sif": None,
        "definition": None,
        "cache_dir": None,
        "binds": tuple(_bind(text) for text in wish.binds),
        "overlays": tuple(_content(text) for text in wish.overlays),
        "extra_start_args": _arguments(wish.extra_start_args),
        "extra_exec_args": _arguments(wish.extra_exec_args),
    }
    return spec.model_copy(update={"apptainer": wish.model_copy(update=change), "dockerfile": None})


def _bind(text: str) -> str:
    """Read ``source[:target[:options]]``."""
    source, target, options = [*text.split(":"), "", ""][:3]
    content = _content(source) if "ro" in options.split(",") else "rw"
    return f"{content}:{target or source}:{options}"


def _arguments(words: Sequence[str]) -> tuple[str, ...]:
    """Return command-line words; one that names a file or folder of this host (or ``--option=PATH``) by its content."""
    found = []
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        found.append(f"{option}{equals}{_content(value)}" if value.startswith("/") else word)
    return tuple(found)


def _content(text: str) -> str:
    path = Path(text).expanduser()
    if path.is_dir():
        return sha256_tree(path)
    return f"sha256:{SHARED.file(path).hex()}" if path.is_file() else text
