"""QEMU's programs on this host."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache

from gym_anything.errors import MissingDependency

SYSTEM, IMAGE_TOOL = "qemu-system-x86_64", "qemu-img"
PACKAGES = {SYSTEM: "qemu-system-x86", IMAGE_TOOL: "qemu-utils"}
_SEARCH = "/usr/local/bin:/usr/bin:/bin"
_LIMIT_S = 20.0


def find_program(name: str) -> str | None:
    """Return the path of one of QEMU's programs, or None."""
    return shutil.which(name, path=_SEARCH)


def require_program(name: str) -> str:
    """Return the path of one of QEMU's programs. Raises: MissingDependency with the fix."""
    path = find_program(name)
    if path is None:
        fix = f"sudo apt-get install --no-install-recommends {PACKAGES[name]}"
        raise MissingDependency(f"{name} is not installed. Fix: {fix}", detail={"fix": fix})
    return path


@lru_cache(maxsize=4)
def version_of(path: str) -> str:
    """Return the version that a QEMU program says it has, such as ``7.2.22``. Raises: MissingDependency."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingDependency(f"{path} does not run: {error}", detail={"fix": "reinstall QEMU"}) from error
    match = re.search(r"version (\d+\.\d+\.\d+)", done.stdout)
    if match is None:
        raise MissingDependency(f"{path} does not tell its version: {done.stdout[:200]!r}", detail={"fix": ""})
    return match.group(1)
