"""A world's own folder in the state directory, with the manifest of what the world has outside it."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write, control_groups
from gym_anything._util.ascii_names import random_name
from gym_anything._util.labels import Label
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import HostError

MANIFEST = "manifest.json"
SOCKET_PATH_MAX_BYTES = 107


class WorldDir:
    """One world's folder.

    Attributes:
        id: short name, unique on this host; letters and digits only, so it may be part of any other name.
        path: the folder (mode 0700).
        label: run, world and owner; put ``label.as_env()`` on processes, ``labels`` on containers.
    """

    def __init__(
        self, path: Path, label: Label, runner_key: str, facts: dict[str, Any], forget: Callable[[str], object]
    ) -> None:
        """Made by ``Run.new_world``. Args: forget: told the id when the folder is removed."""
        self.id = label.world
        self.path = path
        self.label = label
        self._forget = forget
        self._lock = threading.Lock()
        self._short: Path | None = None
        self._manifest: dict[str, Any] = {
            **facts,
            "world": label.world,
            "run": label.run,
            "runner": runner_key,
            "created_at": time.time(),
        }

    @property
    def labels(self) -> dict[str, str]:
        """The three labels as a dict, for containers and cloud objects."""
        return self.label.as_dict()

    @property
    def env(self) -> dict[str, str]:
        """The label as an environment variable, for every process of this world."""
        return self.label.as_env()

    def update_manifest(self, **facts: Any) -> None:
        """Merge facts (JSON values, never secrets) into the manifest, atomically.

        Write down a resource *before* it is made: after ``kill -9`` only the manifest tells of it.
        """
        with self._lock:
            self._manifest.update(facts)
            atomic_write.write_json(self.path / MANIFEST, self._manifest, mode=0o600)

    def socket_path(self, name: str) -> Path:
        """Return a path for a Unix socket called ``name`` in this folder that fits into 107 bytes.

        When the folder's own path is too long, the answer goes through a symbolic link in the temporary folder.
        """
        direct = self.path / name
        if len(os.fsencode(direct)) <= SOCKET_PATH_MAX_BYTES:
            return direct
        with self._lock:
            if self._short is None:
                self._short = self._make_short()
        short = self._short / name
        if len(os.fsencode(short)) > SOCKET_PATH_MAX_BYTES:
            raise HostError(f"no socket path of at most {SOCKET_PATH_MAX_BYTES} bytes for {name!r}; set TMPDIR to /tmp")
        return short

    def remove(self) -> None:
        """Delete the folder and all in it, and the control groups its manifest lists; twice is harmless.

        The world's processes and the mounts below the folder must be gone; mounts are never crossed.

        Raises: HostError when something cannot be removed.
        """
        for group in control_groups.recorded(self._manifest):
            control_groups.remove(group)
        short, self._short = self._short, None
        if short is not None:
            short.unlink(missing_ok=True)
        self._forget(self.id)
        remove_tree(self.path)

    def _make_short(self) -> Path:
        link = Path(tempfile.gettempdir()) / random_name("ga", 10)
        self._manifest["short_link"] = str(link)
        atomic_write.write_json(self.path / MANIFEST, self._manifest, mode=0o600)
        link.symlink_to(self.path, target_is_directory=True)
        return link
