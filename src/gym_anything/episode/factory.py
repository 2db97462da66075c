"""From files, dicts or specs to an environment: load, choose the world, check what it can enforce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.loading import checked_env, checked_task, load_env, load_task, single_task
from gym_anything.specs.reading import find_spec_file, read_document
from gym_anything.specs.task_spec import TaskSpec


def from_config(
    env_dir: str | Path | Mapping[str, Any] | EnvSpec,
    task_id: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    fast_io: bool = False,
    strict_hooks: bool = False,
    runner: str | None = None,
    pacing: str | None = None,
) -> GymAnythingEnv:
    """Make an environment from its folder.

    Args:
        env_dir: the environment's folder (or its env file, or a spec, or a dict).
        task_id: the *folder* name under ``tasks/``. None and exactly one task: that one; none or several: no task.
        overrides: laid over the env file, see ``specs.loading``.
        fast_io: low-latency frames and input, no fixed sleeps.
        strict_hooks: a set-up hook that exits non-zero raises.
        runner: a runner key or locator that wins over everything else.
        pacing: ``legacy``, ``fast`` or ``settle`` (wait until the screen is at rest instead of sleeping; the step's
            ``info["settle"]`` says whether it came to rest); by default follows ``fast_io``.
    Raises: SpecError kinds, PluginError kinds, MissingDependency, UnsupportedFeature. Nothing is started yet.
    """
    env = _environment(env_dir, overrides)
    if task_id is None and env.root is not None:
        task_id = single_task(env.root)
    task = _Task(None, None, None, [])
    if task_id is not None:
        if env.root is None:
            raise SpecInvalid(
                f"task_id {task_id!r} names a folder beside an environment file, and this environment has none; "
                "use make(env, task) with a task spec",
                detail={"key": "task_id"},
            )
        task = _task_of_key(env.root, task_id)
    return _build(env, task, fast_io=fast_io, strict_hooks=strict_hooks, runner=runner, pacing=pacing)


def make(
    env: str | Path | Mapping[str, Any] | EnvSpec,
    task: str | Path | Mapping[str, Any] | TaskSpec | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    fast_io: bool = False,
    strict_hooks: bool = False,
    runner: str | None = None,
    pacing: str | None = None,
) -> GymAnythingEnv:
    """Make an environment from paths, dicts or specs.

    Args: task: a spec, a dict, a task's folder or file, or, when ``env`` is a folder, a task id.
    Raises: as ``from_config``.
    """
    source = _environment(env, overrides)
    target = _task(task, source.root)
    return _build(source, target, fast_io=fast_io, strict_hooks=strict_hooks, runner=runner, pacing=pacing)


@dataclass(frozen=True, slots=True)
class _Environment:
    spec: EnvSpec
    root: Path | None
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Task:
    spec: TaskSpec | None
    root: Path | None
    key: str | None
    warnings: list[str]


def _build(
    env: _Environment, task: _Task, *, fast_io: bool, strict_hooks: bool, runner: str | None, pacing: str | None
) -> GymAnythingEnv:
    return GymAnythingEnv(
        env.spec,
        task.spec,
        runner_name=runner,
        env_root=env.root,
        task_root=task.root,
        task_key=task.key,
        fast_io=fast_io,
        strict_hooks=strict_hooks,
        pacing=pacing,
        warnings=[*env.warnings, *task.warnings],
    )


def _environment(source: str | Path | Mapping[str, Any] | EnvSpec, overrides: Mapping[str, Any] | None) -> _Environment:
    if isinstance(source, str | Path):
        loaded = load_env(source, overrides)
        return _Environment(loaded.spec, loaded.root, [str(w) for w in loaded.warnings])
    if isinstance(source, EnvSpec) and not overrides:
        return _Environment(source, None, [])
    data = source.to_dict() if isinstance(source, EnvSpec) else source
    if not isinstance(data, Mapping):
        raise SpecInvalid(f"an environment is a folder, a file, a dict or an EnvSpec, not {type(source).__name__}")
    spec, warnings = checked_env(data, overrides)
    return _Environment(spec, None, [str(w) for w in warnings])


def _task(source: str | Path | Mapping[str, Any] | TaskSpec | None, env_root: Path | None) -> _Task:
    if source is None:
        return _Task(None, None, None, [])
    if isinstance(source, TaskSpec):
        return _Task(source, None, None, [])
    if isinstance(source, Mapping):
        spec, warnings = checked_task(source)
        return _Task(spec, None, None, [str(w) for w in warnings])
    if isinstance(source, str | Path):
        return _task_of_path(source, env_root)
    raise SpecInvalid(f"a task is an id, a folder, a file, a dict or a TaskSpec, not {type(source).__name__}")


def _task_of_path(source: str | Path, env_root: Path | None) -> _Task:
    path = Path(source)
    file = path if path.is_file() else (find_spec_file(path, "task")[0] if path.is_dir() else None)
    if file is not None:
        spec, warnings = checked_task(read_document(file, free_keys=("metadata", "extras")).data, origin=str(file))
        return _Task(spec, file.parent.absolute(), file.parent.name, [str(w) for w in warnings])
    if env_root is None:
        raise SpecNotFound(f"{source}: there is no such task folder or file", detail={"file": str(source)})
    return _task_of_key(env_root, str(source))


def _task_of_key(env_root: Path, key: str) -> _Task:
    loaded = load_task(env_root, key)
    return _Task(loaded.spec, loaded.root, loaded.task_id, [str(w) for w in loaded.warnings])
