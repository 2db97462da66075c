"""From folders to specs. Returns data only: asking a runner about its options is the factory's and ``validate``'s job.

Nothing here demands that scripts, verifiers or mount sources exist; see ``specs.beside`` for what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.errors import SpecError, SpecNotFound
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.merging import resolved_env_data
from gym_anything.specs.near_miss import near_miss
from gym_anything.specs.reading import (
    Document,
    absolute_path,
    find_spec_file,
    folder_entries,
    is_file,
    is_folder,
    read_document,
)
from gym_anything.specs.remarks import env_warnings, task_warnings
from gym_anything.specs.spec_warning import SpecWarning, near_miss_warnings
from gym_anything.specs.task_spec import TaskSpec
from gym_anything.specs.validation import validated

GENERATED_FOLDERS = ("__pycache__",)


@dataclass(frozen=True, slots=True)
class LoadedEnv:
    """An environment and where it came from.

    Attributes:
        spec: the environment, preset merged and overrides applied.
        root: the folder of the file, absolute: relative paths and ``tasks/`` start there.
        file: the file itself.
        warnings: what is odd but does not stop it.
    """

    spec: EnvSpec
    root: Path
    file: Path
    warnings: tuple[SpecWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task and where it came from.

    Attributes:
        spec: the task.
        task_id: its key: the folder's name.
        root: the task's folder, absolute.
        file: the file itself.
        warnings: what is odd but does not stop it.
    """

    spec: TaskSpec
    task_id: str
    root: Path
    file: Path
    warnings: tuple[SpecWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """One task in a listing: loaded, or the one error that its file gives."""

    task_id: str
    task: LoadedTask | None
    error: SpecError | None


def load_env(env: str | Path, overrides: Mapping[str, Any] | None = None) -> LoadedEnv:
    """Read ``env.yaml | env.yml | env.json``, merge its preset, apply the overrides and check the result.

    Args:
        env: the environment's folder, or the file.
        overrides: keys that replace the file's; ``resources``, ``security``, ``recording`` and ``apptainer`` merge one
            level; ``id`` and ``version`` are fixed.
    Raises: SpecNotFound (no such folder or file, unknown preset); SpecInvalid (``detail``: file, key, fix).
    """
    file, unread = _env_file(Path(env))
    document = read_document(file)
    spec, warnings = checked_env(document.data, overrides, origin=str(file))
    path = absolute_path(file)
    return LoadedEnv(spec, path.parent, path, (*_file_warnings(document, unread), *warnings))


def load_task(env_root: str | Path, task_id: str) -> LoadedTask:
    """Read ``tasks/<task_id>/task.yaml | task.yml | task.json`` and check it.

    Args:
        env_root: the environment's folder.
        task_id: the task's *folder* name.
    Raises: SpecNotFound that names near matches; SpecInvalid (``detail``: file, key, fix).
    """
    folder = task_folder(env_root, task_id)
    file, unread = find_spec_file(folder, "task")
    if file is None:
        raise _no_such_task(Path(env_root), task_id)
    document = read_document(file, free_keys=("metadata", "extras"))
    spec, warnings = checked_task(document.data, origin=str(file))
    warnings = (*_file_warnings(document, unread), *warnings)
    return LoadedTask(spec, task_id, absolute_path(folder), absolute_path(file), warnings)


def checked_env(
    data: Mapping[str, Any], overrides: Mapping[str, Any] | None = None, *, origin: str = "the environment spec"
) -> tuple[EnvSpec, tuple[SpecWarning, ...]]:
    """Return the spec made from plain data (for environments that come from no file) and the remarks about it.

    Args: as for ``load_env``; ``data`` may be what ``EnvSpec.to_dict`` returned.
    Raises: SpecInvalid; SpecNotFound for an unknown preset.
    """
    resolved = resolved_env_data(data, overrides, origin=origin)
    spec = validated(EnvSpec, resolved, origin=origin)
    return spec, (*near_miss_warnings(origin, resolved, EnvSpec.known_keys()), *env_warnings(origin, spec))


def checked_task(data: Mapping[str, Any], *, origin: str = "the task spec") -> tuple[TaskSpec, tuple[SpecWarning, ...]]:
    """Return the spec made from plain data (for tasks that come from no file) and the remarks about it.

    Raises: SpecInvalid.
    """
    spec = validated(TaskSpec, data, origin=origin)
    return spec, (*near_miss_warnings(origin, data, TaskSpec.known_keys()), *task_warnings(origin, spec))


def list_tasks(env_root: str | Path) -> list[str]:
    """Return the environment's task keys, sorted: folders under ``tasks/`` with a task file. Parses none of them."""
    entries = folder_entries(Path(env_root) / "tasks")
    return [e.name for e in entries if e.name not in GENERATED_FOLDERS and find_spec_file(e, "task")[0] is not None]


def scan_tasks(env_root: str | Path) -> Iterator[TaskEntry]:
    """Load every task of an environment; a broken one gives its error and spoils no other."""
    for task_id in list_tasks(env_root):
        try:
            yield TaskEntry(task_id, load_task(env_root, task_id), None)
        except SpecError as error:
            yield TaskEntry(task_id, None, error)


def single_task(env_root: str | Path) -> str | None:
    """Return the environment's only task, or None when there is none or more than one."""
    tasks = list_tasks(env_root)
    return tasks[0] if len(tasks) == 1 else None


def task_folder(env_root: str | Path, task_id: str) -> Path:
    """Return the folder of a task key; the key is one folder name and never leads elsewhere.

    Raises: SpecNotFound when ``task_id`` is not a plain name (the folder itself need not exist).
    """
    if not task_id or task_id in (".", "..") or any(c in task_id for c in "/\\\0"):
        raise _no_such_task(Path(env_root), task_id)
    return Path(env_root) / "tasks" / task_id


def _env_file(env: Path) -> tuple[Path, list[Path]]:
    if is_folder(env):
        file, unread = find_spec_file(env, "env")
        if file is None:
            raise SpecNotFound(
                f"{env}: this folder holds no env.yaml, env.yml or env.json; name the folder of one environment",
                detail={"file": str(env), "fix": "name the folder of one environment"},
            )
        return file, unread
    if is_file(env):
        return env, []
    raise SpecNotFound(f"{env}: there is no such folder or file", detail={"file": str(env)})


def _no_such_task(env_root: Path, task_id: str) -> SpecNotFound:
    tasks = list_tasks(env_root)
    close = near_miss(task_id.split("@")[0], tasks)
    hint = f"did you mean {close!r}? " if close else ""
    shown = ", ".join(tasks[:20]) + (f" and {len(tasks) - 20} more" if len(tasks) > 20 else "")
    return SpecNotFound(
        f"{env_root}: there is no task {task_id!r} (tasks go by folder name); {hint}there are: {shown or 'none'}",
        detail={"file": str(env_root / "tasks"), "key": task_id, "fix": f"{hint}use one of the folder names"},
    )


def _file_warnings(document: Document, unread: list[Path]) -> list[SpecWarning]:
    origin = str(document.file)
    found = [SpecWarning(origin, key, "duplicate-key", remark) for key, remark in document.remarks]
    if unread:
        names = ", ".join(path.name for path in unread)
        found.append(SpecWarning(origin, "", "several-files", f"{names} beside it is not read"))
    return found
