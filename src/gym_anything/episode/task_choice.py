"""Which task is meant: a spec, a dict, a folder, a file, or an id beside an environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.specs.loading import checked_task, load_task
from gym_anything.specs.reading import find_spec_file, read_document
from gym_anything.specs.task_spec import TaskSpec

TaskSource = str | Path | Mapping[str, Any] | TaskSpec
"""What a caller may name a task by."""


@dataclass(frozen=True, slots=True)
class ChosenTask:
    """A loaded task; all empty: none.

    Attributes:
        root: its folder, if it has one. key: the folder's name. warnings: what loading it remarked.
    """

    spec: TaskSpec | None = None
    root: Path | None = None
    key: str | None = None
    warnings: list[str] = field(default_factory=list)


def choose_task(source: TaskSource | None, env_root: Path | None) -> ChosenTask:
    """Load the task that is meant; a name that is no path is a folder below the environment's ``tasks``.

    Raises: SpecError kinds.
    """
    if source is None:
        return ChosenTask()
    if isinstance(source, TaskSpec):
        return ChosenTask(source)
    if isinstance(source, Mapping):
        spec, warnings = checked_task(source)
        return ChosenTask(spec, None, None, [str(w) for w in warnings])
    if isinstance(source, str | Path):
        return _task_of_path(source, env_root)
    raise SpecInvalid(f"a task is an id, a folder, a file, a dict or a TaskSpec, not {type(source).__name__}")


def _task_of_path(source: str | Path, env_root: Path | None) -> ChosenTask:
    path = Path(source)
    file = path if path.is_file() else (find_spec_file(path, "task")[0] if path.is_dir() else None)
    if file is not None:
        spec, warnings = checked_task(read_document(file, free_keys=("metadata", "extras")).data, origin=str(file))
        return ChosenTask(spec, file.parent.absolute(), file.parent.name, [str(w) for w in warnings])
    if env_root is None:
        raise SpecNotFound(f"{source}: there is no such task folder or file", detail={"file": str(source)})
    return task_of_key(env_root, str(source))


def task_of_key(env_root: Path, key: str) -> ChosenTask:
    """Load the task in the folder ``key`` below the environment's ``tasks``. Raises: SpecError kinds."""
    loaded = load_task(env_root, key)
    return ChosenTask(loaded.spec, loaded.root, loaded.task_id, [str(w) for w in loaded.warnings])
