"""Apptainer's program on this host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache

from gym_anything._util import env_vars
from gym_anything.errors import MissingDependency

PROGRAM = env_vars.declare(
    "GYM_ANYTHING_APPTAINER",
    env_vars.path,
    None,
    "Path of the program apptainer. Default: the one in PATH.",
    "gym_anything.runtime.apptainer.program",
)
SEARCH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
"""Where apptainer looks for its own helpers (squashfuse, newuidmap …), too."""
FIX = "install apptainer 1.2 or newer (https://apptainer.org/docs/admin/latest/installation.html)"
OLDEST = (1, 2)
_LIMIT_S = 20.0


def find_program() -> str | None:
    """Return the path of ``apptainer``, or None."""
    chosen = PROGRAM.get()
    if chosen is not None:
        return str(chosen)
    return shutil.which("apptainer", path=f"{os.environ.get('PATH', '')}:{SEARCH}")


def require_program() -> str:
    """Return the path of ``apptainer``, once it ran. Raises: MissingDependency with the fix."""
    path = find_program()
    if path is None:
        raise MissingDependency(f"apptainer is not installed. Fix: {FIX}", detail={"fix": FIX})
    version = version_of(path)
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise MissingDependency(f"{path} is apptainer {version}. Fix: {FIX}", detail={"fix": FIX})
    return path


@lru_cache(maxsize=4)
def version_of(path: str) -> str:
    """Return the version that an apptainer says it has, such as ``1.4.5``. Raises: MissingDependency."""
    try:
        done = subprocess.run([path, "version"], capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except subprocess.CalledProcessError as error:
        raise MissingDependency(f"{path} does not run: {error.stderr.strip()[-500:]}", detail={"fix": FIX}) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingDependency(f"{path} does not run: {error}", detail={"fix": FIX}) from error
    match = re.match(r"\d+\.\d+(\.\d+)?", done.stdout.strip())
    if match is None:
        raise MissingDependency(f"{path} does not tell its version: {done.stdout[:200]!r}", detail={"fix": FIX})
    return match.group()
