"""Checkpoints of Apptainer worlds: what a world has written, frozen as an overlay that later worlds only read."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import CheckpointError, CheckpointStale, StateError
from gym_anything.runtime.apptainer import rootless
from gym_anything.runtime.apptainer.cache import checkpoint_root
from gym_anything.runtime.checkpoints.key import KeyMaterial, key_material
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.checkpoints.store import Checkpoint, CheckpointStore, Lease
from gym_anything.runtime.runners.apptainer.content import without_places
from gym_anything.runtime.runners.apptainer.images import image_of
from gym_anything.specs.env_spec import EnvSpec

KIND = "apptainer-overlay"
_LAYER = "layer"
_FORMAT = 1
_CREATE_S = 600.0


class ApptainerCheckpoints:
    """The checkpoints of one runner: which one is meant, which ones its world lies on."""

    def __init__(self, spec: EnvSpec, volatile_options: Sequence[str]) -> None:
        self._spec = spec
        self._volatile = volatile_options
        self._store = CheckpointStore(checkpoint_root())
        self._name: CheckpointName | None = None
        self._task_digest: str | None = None
        self._lease: Lease | None = None
        self._base: Checkpoint | None = None

    def choose(self, name: CheckpointName, task_digest: str | None) -> None:
        """Decide which checkpoint is meant from now on."""
        self._name, self._task_digest = name, task_digest

    def exists(self) -> bool:
        """Tell whether a usable checkpoint lies under the chosen key."""
        try:
            return self._store.find(self.material().key) is not None
        except CheckpointStale:
            return False

    def delete(self) -> bool:
        """Remove the chosen checkpoint (False: there was none); its files stay as long as a world lies on it.

        Raises: CheckpointLocked while another checkpoint lies on it.
        """
        return self._store.remove(self.material().key)

    def check_base(self) -> None:
        """Raise CheckpointMissing when what the running world lies on was removed meanwhile: nothing can lie on it."""
        if self._base is not None:
            self._store.get(self._base.key)

    def use(self) -> None:
        """Take the chosen checkpoint as the base of the next world, and hold it.

        Raises: CheckpointMissing, CheckpointStale, CheckpointLocked.
        """
        self._take(self._store.get(self.material().key))

    def release(self) -> None:
        """Give up the base; the world that lay on it is gone."""
        self._base = None
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def layers(self) -> list[str]:
        """Return the overlays of the next world, the oldest first."""
        if self._base is None:
            return []
        chain = [self._base, *(self._store.get(key) for key in self._base.parents)]
        return [str(one.path / _LAYER) for one in reversed(chain)]

    def make(self, overlay: Path) -> None:
        """Store what an ended world has written under the chosen key, and take it as the base of the next.

        Another process may make the same one meanwhile; then theirs is used.
        Raises: CheckpointError; the written files then lie where they were.
        """
        material = self.material()
        with self._store.creating(material.key, Deadline.after(_CREATE_S)) as existing:
            made = existing or self._store.publish(
                material.key, self._manifest(material), lambda staging: _move(overlay, staging / _LAYER)
            )
        self._take(made)

    def material(self) -> KeyMaterial:
        """Return what the chosen key is made of. Raises: StateError when none was chosen."""
        if self._name is None:
            raise StateError("set_checkpoint_key must come first")
        return key_material(
            without_places(self._spec),
            self._name,
            kind=KIND,
            facts={"format": _FORMAT, "image": image_of(self._spec).mark(), "as_root": os.geteuid() == 0},
            volatile_options=self._volatile,
            task_digest=self._task_digest,
        )

    def _manifest(self, material: KeyMaterial) -> dict[str, Any]:
        assert self._name is not None
        return {
            "runner": "apptainer",
            "level": self._name.level,
            "task_id": self._name.task_id,
            "env": self._spec.id,
            "parents": [] if self._base is None else [self._base.key, *self._base.parents],
            "material": dict(material.parts),
        }

    def _take(self, checkpoint: Checkpoint) -> None:
        lease = self._store.lease(checkpoint)
        self.release()
        self._base, self._lease = checkpoint, lease


def _move(overlay: Path, target: Path) -> None:
    """Move a folder: a rename, or a copy to another file system."""
    try:
        overlay.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        command = [*rootless.owner_argv(), "cp", "--archive", "--reflink=auto", str(overlay), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            remove_tree(target)
            raise CheckpointError(f"copying the world's files failed: {done.stderr.strip()[-500:]}") from error
