"""Checkpoints of Docker worlds: what a world has written, committed as an image; the store knows which and for what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Label
from gym_anything._util.orphans import IsOrphan, Orphan
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import CheckpointError, CheckpointMissing, CheckpointStale, GymAnythingError, StateError
from gym_anything.runtime.checkpoints.key import KeyMaterial, key_material
from gym_anything.runtime.checkpoints.levels import CheckpointName
from gym_anything.runtime.checkpoints.store import Checkpoint, CheckpointStore, Lease
from gym_anything.runtime.runners.docker.images import LABEL, image_reference
from gym_anything.runtime.runners.docker.vendor import Engine, EngineRefused
from gym_anything.specs.env_spec import EnvSpec

CHECKPOINT_DIR = env_vars.declare(
    "GYM_ANYTHING_DOCKER_CHECKPOINT_DIR",
    env_vars.path,
    None,
    "Folder of what is known about the Docker worlds' checkpoints; their content lies in the engine, as images. "
    "Default: $XDG_CACHE_HOME/gym-anything/docker/checkpoints, else below ~/.cache.",
    "gym_anything.runtime.runners.docker",
)
KIND = "docker-commit"
REPOSITORY = "gym-anything/checkpoint"
MAKER, STORE = "gym-anything.maker", "gym-anything.store"
"""Labels of an image: the label of the world that it was made of, the folder of the store that shall know of it."""
_FORMAT = 1
_CREATE_S = 600.0


def checkpoint_root() -> Path:
    """Return the folder of this user's Docker checkpoints."""
    chosen = CHECKPOINT_DIR.get()
    if chosen is not None:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return cache / "gym-anything" / "docker" / "checkpoints"


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint's image from the engine, then its folder: what ``cache purge`` and the store call.

    The folder's name holds the key, also once it is doomed (``doomed-<key>-…``).
    """
    parts = path.name.split("-")
    key = parts[1] if parts[0] == "doomed" and len(parts) > 1 else parts[0]
    engine = Engine.connect()
    try:
        engine.remove_image(f"{REPOSITORY}:{key}")
    finally:
        engine.close()
    remove_tree(path)


def _labels(maker: Label) -> dict[str, str]:
    """Return the labels of an image: who makes it for which store. The container's own are emptied: they say of what
    carries them that it goes with its world, and whatever is made from the image would inherit them."""
    emptied = dict.fromkeys(maker.as_dict(), "")
    return {**emptied, LABEL: "checkpoint", MAKER: str(maker), STORE: str(checkpoint_root())}


def orphaned_images(engine: Engine, is_orphan: IsOrphan, dry_run: bool) -> list[Orphan]:
    """Find and remove the images that killed processes committed and never told their store of; only of our store."""
    found = []
    for row in engine.labelled_images(f"{STORE}={checkpoint_root()}"):
        maker = Label.parse(str(row["Labels"].get(MAKER, "")))
        names = [name for name in row.get("RepoTags") or [] if name.startswith(f"{REPOSITORY}:")]
        known = any(_is_stored(name.partition(":")[2], str(row["Id"])) for name in names)
        if maker is None or known or not is_orphan(maker):
            continue
        what = f"docker image {', '.join(names) or row['Id']}"
        removed, error = False, ""
        if not dry_run:
            try:
                for name in names or [str(row["Id"])]:
                    engine.remove_image(name)
                removed = True
            except GymAnythingError as failure:
                error = str(failure)
        found.append(Orphan("container", what, maker.run, maker.world, removed=removed, error=error))
    return found


def _is_stored(key: str, image: str) -> bool:
    """Tell whether the store knows of the image, be it only until the last world that uses it is gone."""
    if any(checkpoint_root().glob(f"doomed-{key}-*")):
        return True
    try:
        stored = CheckpointStore(checkpoint_root()).find(key)
    except CheckpointStale:
        return True  # of another version of ours
    return stored is not None and stored.manifest.get("image") == image


class DockerCheckpoints:
    """The checkpoints of one runner: which one is meant, which one its world was made from."""

    def __init__(self, spec: EnvSpec, volatile_options: Sequence[str]) -> None:
        self._spec = spec
        self._volatile = volatile_options
        self._store = CheckpointStore(checkpoint_root(), removal=remove_checkpoint)
        self._name: CheckpointName | None = None
        self._task_digest: str | None = None
        self._lease: Lease | None = None
        self.image = ""
        """Reference of the image that the next world is made from; empty for the spec's own."""

    def choose(self, name: CheckpointName, task_digest: str | None) -> None:
        """Decide which checkpoint is meant from now on."""
        self._name, self._task_digest = name, task_digest

    def exists(self, engine: Engine) -> bool:
        """Tell whether a usable checkpoint lies under the chosen key."""
        try:
            return self._find(engine) is not None
        except CheckpointStale:
            return False

    def delete(self, engine: Engine) -> bool:
        """Remove the chosen checkpoint; False: there was none. Its image stays as long as a world is made from it."""
        return self._store.remove(self._material(engine).key)

    def use(self, engine: Engine) -> None:
        """Take the chosen checkpoint as the base of the next world, and hold it.

        Raises: CheckpointMissing, CheckpointStale, CheckpointLocked.
        """
        found = self._find(engine)
        if found is None:
            key = self._material(engine).key
            raise CheckpointMissing(f"no checkpoint under the key {key}", detail={"key": key})
        self._take(found)

    def release(self) -> None:
        """Give up the base; the world that was made from it is gone."""
        self.image = ""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def make(self, engine: Engine, container: str, maker: Label) -> None:
        """Commit an ended container under the chosen key, and take that as the base of the next world.

        Args: maker: whose it is until the store knows of it.

        Another process may make the same one meanwhile; then theirs is used. Raises: CheckpointError.
        """
        material = self._material(engine)
        try:
            with self._store.creating(material.key, Deadline.after(_CREATE_S)):
                found = self._find(engine)
                if found is None:
                    self._store.remove(material.key)  # of an image that somebody took out of the engine
                    config = {"Labels": _labels(maker)}
                    image = engine.commit(container, REPOSITORY, material.key, config)
                    found = self._store.publish(material.key, self._manifest(material, image), lambda folder: None)
        except EngineRefused as error:
            raise CheckpointError(f"the world could not be saved: {error}", detail=error.detail) from error
        self._take(found)

    def _find(self, engine: Engine) -> Checkpoint | None:
        """Return what lies under the chosen key; None when its image is not in the engine (any more)."""
        found = self._store.find(self._material(engine).key)
        if found is None:
            return None
        image = engine.image(f"{REPOSITORY}:{found.key}")
        return found if image is not None and image["Id"] == found.manifest.get("image") else None

    def _material(self, engine: Engine) -> KeyMaterial:
        if self._name is None:
            raise StateError("set_checkpoint_key must come first")
        reference = image_reference(self._spec)
        image = engine.image(reference) if reference else None
        dockerfile = self._spec.dockerfile
        return key_material(
            # Where a Dockerfile lies does not matter; what it makes is the image, a fact below.
            self._spec.model_copy(update={"dockerfile": Path(dockerfile).name}) if dockerfile else self._spec,
            self._name,
            kind=KIND,
            facts={"format": _FORMAT, "engine": engine.info().get("ID"), "image": image and image["Id"]},
            volatile_options=self._volatile,
            task_digest=self._task_digest,
        )

    def _manifest(self, material: KeyMaterial, image: str) -> dict[str, Any]:
        assert self._name is not None
        return {
            "runner": "docker",
            "level": self._name.level,
            "task_id": self._name.task_id,
            "env": self._spec.id,
            "material": dict(material.parts),
            "image": image,
        }

    def _take(self, checkpoint: Checkpoint) -> None:
        lease = self._store.lease(checkpoint)
        self.release()
        self.image, self._lease = f"{REPOSITORY}:{checkpoint.key}", lease
