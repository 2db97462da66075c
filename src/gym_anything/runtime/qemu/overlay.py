"""Empty disk layers: one is made by QEMU's own tool, all others are copies of it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from gym_anything.errors import HostError
from gym_anything.runtime.qemu.emulator import Emulator
from gym_anything.runtime.qemu.program import IMAGE_TOOL

_LIMIT_S = 60.0


def make_overlay(path: Path, disk_mib: int, emulator: Emulator) -> None:
    """Make an empty layer for a disk of this size. What lies below it is said when it is used, not in the file.

    Raises: MissingDependency, HostError.
    """
    argv = emulator.image_tool_argv(["create", "-q", "-f", "qcow2", str(path), f"{disk_mib}M"], path.parent)
    try:
        with tempfile.TemporaryDirectory(prefix="gym-anything-") as notes:
            env = emulator.environment({}, Path(notes))
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_S, env=env, check=False)
    except subprocess.TimeoutExpired as error:
        raise HostError(f"{IMAGE_TOOL} did not end within {_LIMIT_S:g} s") from error
    if done.returncode != 0:
        raise HostError(f"no disk layer could be made: {done.stderr.strip()[-500:]}")
