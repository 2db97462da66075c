"""What is kept on disk between runs, by whom, and how it is removed: core's own caches and what runners declare."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything._util import orphans
from gym_anything._util.orphans import Collector, Orphan
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.state_dir import LOGS, state_root
from gym_anything.errors import GymAnythingError, PluginError, SpecNotFound
from gym_anything.runtime.checkpoints.store import Checkpoint, CheckpointStore
from gym_anything.runtime.images.prepared.store import FOLDER as PREPARED
from gym_anything.runtime.images.store import image_root
from gym_anything.runtime.native.locate import cache_folder
from gym_anything.runtime.runners.registry import known_runners, resolve_runner

CHECKPOINTS = "checkpoints"
_DAY_S = 86_400.0
_IMAGES = "root file systems of guests, built from recipes"
_PREPARED_IMAGES = "images that were imported, and what is there of cut downloads"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that can be removed by itself: a checkpoint, or a path."""

    key: str
    path: Path
    size_bytes: int
    created_at: float
    parents: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "key": self.key,
            "path": str(self.path),
            "size_bytes": self.size_bytes,
            "created_at": self.created_at,
            "parents": list(self.parents),
        }


@dataclass(frozen=True, slots=True)
class Component:
    """One cache.

    Attributes:
        name: what ``cache purge`` calls it.
        category: ``checkpoints`` for a store of them; any other word is for people.
        owner: the runner's key, or ``core``.
        removal: deletes one path of it (a runner may need more rights than ours for its files).
        collector: finds and removes what killed runs have left of it elsewhere, for ``cache gc``.
        apart: names in its folders that are another cache.
    """

    name: str
    category: str
    owner: str
    paths: tuple[Path, ...]
    desc: str
    removal: Callable[[Path], None] = remove_tree
    collector: Collector | None = None
    apart: frozenset[str] = frozenset()

    def entries(self) -> list[Entry]:
        """Return what is in it, the oldest first."""
        if self.category == CHECKPOINTS:
            found = [_checkpoint_entry(checkpoint) for path in self.paths for checkpoint in CheckpointStore(path).all()]
        else:
            found = [entry for path in self.paths for entry in _path_entries(path, self.apart)]
        return sorted(found, key=lambda entry: (entry.created_at, entry.key))


@dataclass(slots=True)
class Purge:
    """What a purge removed and what it had to keep, each with the reason.

    A checkpoint that a running world uses counts as removed: nobody finds it any more, and its files go when that ends.
    """

    removed: list[Entry] = field(default_factory=list)
    kept: list[tuple[Entry, str]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "removed": [entry.to_dict() for entry in self.removed],
            "kept": [{**entry.to_dict(), "reason": reason} for entry, reason in self.kept],
            "removed_bytes": sum(entry.size_bytes for entry in self.removed),
        }


def components() -> tuple[list[Component], list[str]]:
    """Return every cache there is, and what went wrong when runners were asked for theirs."""
    found = [
        Component("native", "programs", "core", (cache_folder(),), "builds of our C programs"),
        Component("logs", "logs", "core", (state_root() / LOGS,), "logs of pools, each replaced by its next start"),
        Component("images", "images", "core", (image_root(),), _IMAGES, apart=frozenset({PREPARED})),
        Component("prepared-images", "images", "core", (image_root() / PREPARED,), _PREPARED_IMAGES),
    ]
    problems = []
    for plugin in known_runners():
        try:
            rows = resolve_runner(plugin.key).cache_components()
            found += [_component(plugin.key, row) for row in rows]
        except GymAnythingError as error:
            problems.append(f"runner {plugin.key}: {error}")
        except Exception as error:  # noqa: BLE001 - the boundary to foreign code
            problems.append(f"runner {plugin.key}: cache_components() failed: {type(error).__name__}: {error}")
    return found, problems


def choose(found: Sequence[Component], names: Sequence[str]) -> list[Component]:
    """Return the components of these names; a runner's key means all of its own.

    Raises: SpecNotFound that lists what exists.
    """
    chosen = [component for component in found if {component.name, component.owner} & set(names)]
    for name in names:
        if not any(name in (component.name, component.owner) for component in chosen):
            known = ", ".join(sorted({component.name for component in found}))
            raise SpecNotFound(f"there is no cache {name!r}; there are: {known}", detail={"known": known})
    return chosen


def purge(chosen: Sequence[Component], *, dry_run: bool = False, older_than_days: float = 0.0) -> Purge:
    """Remove what is in these caches; what is in use is kept, and said."""
    result = Purge()
    newest = time.time() - older_than_days * _DAY_S
    for component in chosen:
        # The youngest first: a checkpoint lies on older ones, which cannot go before it.
        for entry in reversed(component.entries()):
            if older_than_days and entry.created_at > newest:
                continue
            if dry_run:
                result.removed.append(entry)
                continue
            try:
                _remove(component, entry)
            except (OSError, GymAnythingError) as error:
                result.kept.append((entry, str(error)))
            else:
                result.removed.append(entry)
    return result


def collect_garbage(*, dry_run: bool = False) -> list[Orphan]:
    """Remove what killed runs have left: processes, mounts, links, folders, half-made checkpoints; and only that."""
    found, _ = components()
    collectors = [component.collector for component in found if component.collector is not None]
    left = orphans.collect(state_root(), dry_run, collectors=collectors)
    for component in found:
        if component.category == CHECKPOINTS:
            for path in component.paths:
                half_made = CheckpointStore(path, removal=component.removal).collect(dry_run=dry_run)
                left += [Orphan("folder", str(folder), "-", "-", removed=not dry_run) for folder in half_made]
    return left


def _component(owner: str, row: Any) -> Component:
    try:
        paths = tuple(Path(path).expanduser() for path in row["paths"])
        component = Component(
            name=str(row["name"]),
            category=str(row.get("category", "files")),
            owner=owner,
            paths=paths,
            desc=str(row.get("desc", "")),
            removal=row.get("removal") or remove_tree,
            collector=row.get("collector"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"runner {owner!r} describes a cache by {row!r:.200}; name and paths are needed"
        raise PluginError(message, detail={"runner": owner}) from error
    for path in paths:
        if not path.is_absolute() or any(_contains(path, precious) for precious in (Path.home(), Path.cwd())):
            raise PluginError(f"runner {owner!r} calls {path} a cache, which it cannot be", detail={"runner": owner})
    return component


def _contains(path: Path, other: Path) -> bool:
    return other.resolve().is_relative_to(path.resolve())


def _remove(component: Component, entry: Entry) -> None:
    if component.category == CHECKPOINTS:
        CheckpointStore(entry.path.parent, removal=component.removal).remove(entry.key)
    else:
        component.removal(entry.path)


def _checkpoint_entry(checkpoint: Checkpoint) -> Entry:
    created = checkpoint.manifest.get("created_at")
    created_at = float(created) if isinstance(created, int | float) else 0.0
    return Entry(checkpoint.key, checkpoint.path, _size_bytes(checkpoint.path), created_at, checkpoint.parents)


def _path_entries(folder: Path, apart: frozenset[str]) -> Iterator[Entry]:
    try:
        with os.scandir(folder) as found:
            entries = [(entry.name, Path(entry.path), entry.stat(follow_symlinks=False)) for entry in found]
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, path, info in entries:
        # A lock that is removed no longer excludes anybody.
        if name not in apart and not name.endswith(".lock"):
            yield Entry(name, path, _size_bytes(path), info.st_mtime)


def _size_bytes(path: Path) -> int:
    """What it takes on disk, by blocks: sparse files count as they are."""
    total = 0
    stack = [path]
    while stack:
        here = stack.pop()
        try:
            total += here.lstat().st_blocks * 512
            if here.is_dir() and not here.is_symlink():
                stack += here.iterdir()
        except OSError:
            continue  # removed while we looked, or not ours to read
    return total
