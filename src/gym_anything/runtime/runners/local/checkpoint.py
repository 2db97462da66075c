"""Checkpoints of local worlds: what a world has written, frozen as a read-only layer under later worlds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything.errors import CheckpointError, CheckpointStale, StateError
from gym_anything.runtime.checkpoints.key import KeyMaterial, key_material
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.checkpoints.store import Checkpoint, CheckpointStore, Lease
from gym_anything.runtime.runners.local.host_view import programs_mark
from gym_anything.runtime.runners.local.sandbox import identity
from gym_anything.runtime.runners.local.sandbox.plan import LayerPlan
from gym_anything.runtime.runners.local.sandbox.rootfs import UPPER
from gym_anything.specs.env_spec import EnvSpec

CHECKPOINT_DIR = env_vars.declare(
    "GYM_ANYTHING_LOCAL_CHECKPOINT_DIR",
    env_vars.path,
    None,
    "Folder of the local worlds' checkpoints; best on the file system of GYM_ANYTHING_STATE_DIR, where saving one is a "
    "rename. Default: $XDG_CACHE_HOME/gym-anything/local/checkpoints, else below ~/.cache.",
    "gym_anything.runtime.runners.local",
)
KIND = "local-overlay"
_LAYER = "layer"
_FORMAT = 1
_CREATE_S = 600.0


def checkpoint_root() -> Path:
    """Return the folder of all local checkpoints of this user."""
    chosen = CHECKPOINT_DIR.get()
    if chosen is not None:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return cache / "gym-anything" / "local" / "checkpoints"


class LocalCheckpoints:
    """The checkpoints of one runner: which one is meant, which ones its world lies on."""

    def __init__(self, spec: EnvSpec, volatile_options: Sequence[str]) -> None:
        self._spec = spec
        self._volatile = volatile_options
        self._store = CheckpointStore(checkpoint_root())
        self._name: CheckpointName | None = None
        self._material: KeyMaterial | None = None
        self._lease: Lease | None = None
        self.base: Checkpoint | None = None
        """What the running world was restored from."""

    def choose(self, name: CheckpointName, task_digest: str | None) -> None:
        """Decide which checkpoint is meant from now on."""
        self._name = name
        self._material = key_material(
            self._spec,
            name,
            kind=KIND,
            facts={"format": _FORMAT, "ids": _ids(), "programs": programs_mark()},
            volatile_options=self._volatile,
            task_digest=task_digest,
        )

    @property
    def material(self) -> KeyMaterial:
        """What the chosen key is made of. Raises: StateError when none was chosen."""
        if self._material is None:
            raise StateError("set_checkpoint_key must come first")
        return self._material

    def exists(self) -> bool:
        """Tell whether a usable checkpoint lies under the chosen key."""
        try:
            return self._store.find(self.material.key) is not None
        except CheckpointStale:
            return False

    def delete(self) -> bool:
        """Remove the chosen checkpoint (False: there was none); its files stay as long as a world lies on it.

        Raises: CheckpointLocked while another checkpoint lies on it.
        """
        return self._store.remove(self.material.key)

    def check_base(self) -> None:
        """Raise CheckpointMissing when what the running world lies on was removed meanwhile: nothing can lie on it."""
        if self.base is not None:
            self._store.get(self.base.key)

    def use(self) -> None:
        """Take the chosen checkpoint as the base of the next world, and hold it.

        Raises: CheckpointMissing, CheckpointStale (naming the difference), CheckpointLocked.
        """
        self._take(self._store.get(self.material.key))

    def release(self) -> None:
        """Give up the base; the world that lay on it is gone."""
        self.base = None
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def layers(self) -> list[LayerPlan]:
        """Return the layers of the next world, the newest first."""
        if self.base is None:
            return []
        chain = [self.base, *(self._store.get(key) for key in self.base.parents)]
        return [
            LayerPlan(path=str(one.path / _LAYER / Path(UPPER).name), base_uid=int(one.manifest["base_uid"]))
            for one in chain
        ]

    def make(self, world: WorldFiles) -> None:
        """Store what the ended world has written under the chosen key, and take it as the base of the next.

        Another process may make the same one meanwhile; then theirs is used.

        Raises: CheckpointError; the written files then lie where they were.
        """
        key = self.material.key
        with self._store.creating(key, Deadline.after(_CREATE_S)) as existing:
            made = existing or self._store.publish(key, self._manifest(world), world.move_into)
        self._take(made)

    def _manifest(self, world: WorldFiles) -> dict[str, Any]:
        assert self._name is not None
        parents = [] if self.base is None else [self.base.key, *self.base.parents]
        return {
            "runner": "local",
            "level": self._name.level,
            "task_id": self._name.task_id,
            "env": self._spec.id,
            "parents": parents,
            "material": dict(self.material.parts),
            "base_uid": world.base_uid,
            "id_count": world.id_count,
        }

    def _take(self, checkpoint: Checkpoint) -> None:
        single = checkpoint.manifest.get("id_count") == 1
        if single != (_ids() == "single"):
            raise CheckpointStale(
                f"checkpoint {checkpoint.key} was made with {'one id' if single else 'a range of ids'}, this user has "
                f"{'a range' if single else 'one'}",
                detail={"key": checkpoint.key, "difference": "ids"},
            )
        lease = self._store.lease(checkpoint)
        self.release()
        self.base, self._lease = checkpoint, lease


class WorldFiles:
    """What an ended world has written, in its folder."""

    def __init__(self, folder: Path, base_uid: int, id_count: int) -> None:
        self.base_uid = base_uid
        self.id_count = id_count
        self._upper = folder / Path(UPPER).parent

    def move_into(self, staging: Path) -> None:
        """Move the files into a checkpoint's folder: a rename, or a copy to another file system."""
        target = staging / _LAYER
        try:
            self._upper.rename(target)
        except OSError as error:
            if error.errno != 18:  # EXDEV: another file system
                raise
            self._copy(target)

    def _copy(self, target: Path) -> None:
        done = subprocess.run(
            ["cp", "--archive", "--reflink=auto", str(self._upper), str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            shutil.rmtree(target, ignore_errors=True)
            raise CheckpointError(f"copying the world's files failed: {done.stderr.strip()[-500:]}")


def _ids() -> str:
    return "single" if identity.kind_of_range() == "single" else "range"
