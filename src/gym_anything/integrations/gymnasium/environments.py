"""Which environment is meant: as on the command line, a folder or a name inside a benchmark; a file; or a spec."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_anything.benchmark.layout import find_env_dir
from gym_anything.specs.env_spec import EnvSpec

Environment = str | Path | Mapping[str, Any] | EnvSpec


def found(env: Environment) -> Environment:
    """Return a folder or file that is there, or the spec. Raises: SpecNotFound that lists what exists."""
    if isinstance(env, str | Path) and not Path(env).is_file():
        return find_env_dir(env)
    return env
