"""Where machines keep what outlives them: disks, saved machines."""

from __future__ import annotations

import os
from pathlib import Path

from gym_anything._util import env_vars

CACHE = env_vars.declare(
    "GYM_ANYTHING_QEMU_CACHE",
    env_vars.path,
    None,
    "Folder of the disks and saved machines of QEMU worlds; some gigabytes, on a local disk. Default: "
    "$XDG_CACHE_HOME/gym-anything/qemu, else below ~/.cache.",
    "gym_anything.runtime.qemu.cache",
)


def cache_root() -> Path:
    """Return the folder; it need not exist."""
    chosen = CACHE.get()
    if chosen is not None:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return cache / "gym-anything" / "qemu"


def disk_root() -> Path:
    """Return the folder of the disks."""
    return cache_root() / "disks"


def checkpoint_root() -> Path:
    """Return the folder of the saved machines."""
    return cache_root() / "checkpoints"
