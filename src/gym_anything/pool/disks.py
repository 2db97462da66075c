"""Writable disks for replicas in no time: shared blocks where the file system has them, else a layer, else a copy.

Which of them it was is part of the answer: a host whose disks are copied is slow, and its owner should know.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gym_anything._util.reflink import clone_file, copy_file
from gym_anything.errors import HostError

Way = Literal["reflink", "overlay", "copy"]
ORDER: tuple[Way, ...] = ("reflink", "overlay", "copy")
_IMAGE_TOOL = "qemu-img"
_TOOL_S = 60.0
_BLOCK = 512  # the unit of st_blocks, whatever the file system's own


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A disk that is ready.

    Attributes:
        way: how it was made. took_s: how long that took.
        passed_over: why each better way was not taken.
        needs_base: whether the base must stay where it is, unchanged.
    """

    path: Path
    way: Way
    took_s: float
    passed_over: tuple[str, ...]

    @property
    def needs_base(self) -> bool:
        """True for a layer, which holds only what differs from its base."""
        return self.way == "overlay"


def provision_disk(base: Path, target: Path, *, format_: Literal["raw", "qcow2"] = "raw") -> Provisioned:
    """Make ``target`` a writable disk with the content of ``base``, by the best way there is.

    Args:
        format_: what the base is. A layer is always qcow2.
    Raises: FileNotFoundError, FileExistsError, HostError, OSError (a full disk). What fails leaves no target.
    """
    began = time.perf_counter()
    if not base.is_file():
        raise FileNotFoundError(f"no disk at {base} to make others from")
    if target.exists():
        raise FileExistsError(f"{target} is there already")
    passed_over: list[str] = []
    if clone_file(base, target):
        return Provisioned(target, "reflink", time.perf_counter() - began, ())
    passed_over.append(f"reflink: the file system of {target.parent} shares no blocks (XFS and Btrfs do)")
    if shutil.which(_IMAGE_TOOL) is not None:
        _overlay(base, target, format_)
        return Provisioned(target, "overlay", time.perf_counter() - began, tuple(passed_over))
    passed_over.append(f"overlay: no {_IMAGE_TOOL} (Debian: qemu-utils)")
    copy_file(base, target)
    return Provisioned(target, "copy", time.perf_counter() - began, tuple(passed_over))


def own_bytes(path: Path) -> int:
    """Return how much of the disk's space a file takes, blocks that it shares with others counted as its own."""
    return path.stat().st_blocks * _BLOCK


def used_bytes(folder: Path) -> int:
    """Return how much of the file system below a folder is in use: the only honest answer where blocks are shared."""
    os.sync()  # blocks are given to files when they are written out
    facts = os.statvfs(folder)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


def _overlay(base: Path, target: Path, format_: str) -> None:
    argv = [_IMAGE_TOOL, "create", "-q", "-f", "qcow2", "-F", format_, "-b", str(base.absolute()), str(target)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TOOL_S, check=False)
    except subprocess.TimeoutExpired as error:
        target.unlink(missing_ok=True)
        raise HostError(f"{_IMAGE_TOOL} did not end within {_TOOL_S:g} s") from error
    if done.returncode != 0:
        target.unlink(missing_ok=True)
        raise HostError(f"no layer above {base} could be made: {done.stderr.strip()[-500:]}")
