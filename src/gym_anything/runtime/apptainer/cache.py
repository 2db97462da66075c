"""Where built images and checkpoints of Apptainer worlds lie."""

from __future__ import annotations

import os
from pathlib import Path

from gym_anything._util import env_vars

CACHE = env_vars.declare(
    "GYM_ANYTHING_APPTAINER_CACHE",
    env_vars.path,
    None,
    "Folder of the images and checkpoints of Apptainer worlds; a desktop takes 1.5 GB. Saving a checkpoint is a rename "
    "on the file system of GYM_ANYTHING_STATE_DIR. Default: $XDG_CACHE_HOME/gym-anything/apptainer, else below "
    "~/.cache.",
    "gym_anything.runtime.apptainer.cache",
)


def cache_root() -> Path:
    """Return the folder; it need not exist."""
    chosen = CACHE.get()
    if chosen is not None:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return cache / "gym-anything" / "apptainer"


def image_root() -> Path:
    """Return the folder of the images."""
    return cache_root() / "images"


def checkpoint_root() -> Path:
    """Return the folder of the checkpoints."""
    return cache_root() / "checkpoints"
