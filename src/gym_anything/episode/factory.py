"""From files, dicts or specs to an environment: load, choose the world, check what it can enforce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.task_choice import ChosenTask, choose_task, task_of_key
from gym_anything.errors import SpecInvalid
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.loading import checked_env, load_env, single_task
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
    settle_ignore: Sequence[Sequence[int]] | None = None,
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
        settle_ignore: boxes ``[x, y, width, height]`` of the screen in which changes never count for a settle (a clock,
            an advertisement); by default the spec's own ``settle_ignore``. ``info["settle"]["ignored"]`` names them.
    Raises: SpecError kinds, PluginError kinds, MissingDependency, UnsupportedFeature. Nothing is started yet.
    """
    env = load_environment(env_dir, overrides)
    if task_id is None and env.root is not None:
        task_id = single_task(env.root)
    task = ChosenTask()
    if task_id is not None:
        if env.root is None:
            raise SpecInvalid(
                f"task_id {task_id!r} names a folder beside an environment file, and this environment has none; "
                "use make(env, task) with a task spec",
                detail={"key": "task_id"},
            )
        task = task_of_key(env.root, task_id)
    return _build(env, task, _Settings(fast_io, strict_hooks, runner, pacing, settle_ignore))


def make(
    env: str | Path | Mapping[str, Any] | EnvSpec,
    task: str | Path | Mapping[str, Any] | TaskSpec | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    fast_io: bool = False,
    strict_hooks: bool = False,
    runner: str | None = None,
    pacing: str | None = None,
    settle_ignore: Sequence[Sequence[int]] | None = None,
) -> GymAnythingEnv:
    """Make an environment from paths, dicts or specs.

    Args: task: a spec, a dict, a task's folder or file, or, when ``env`` is a folder, a task id.
    Raises: as ``from_config``.
    """
    source = load_environment(env, overrides)
    target = choose_task(task, source.root)
    return _build(source, target, _Settings(fast_io, strict_hooks, runner, pacing, settle_ignore))


@dataclass(frozen=True, slots=True)
class LoadedEnvironment:
    """An environment's spec, and where it is from.

    Attributes:
        root: its folder, if it has one. warnings: what loading it remarked.
    """

    spec: EnvSpec
    root: Path | None
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Settings:
    fast_io: bool
    strict_hooks: bool
    runner: str | None
    pacing: str | None
    settle_ignore: Sequence[Sequence[int]] | None


def _build(env: LoadedEnvironment, task: ChosenTask, settings: _Settings) -> GymAnythingEnv:
    return GymAnythingEnv(
        env.spec,
        task.spec,
        runner_name=settings.runner,
        env_root=env.root,
        task_root=task.root,
        task_key=task.key,
        fast_io=settings.fast_io,
        strict_hooks=settings.strict_hooks,
        pacing=settings.pacing,
        settle_ignore=settings.settle_ignore,
        warnings=[*env.warnings, *task.warnings],
    )


def load_environment(
    source: str | Path | Mapping[str, Any] | EnvSpec, overrides: Mapping[str, Any] | None = None
) -> LoadedEnvironment:
    """Load an environment's spec and check it; nothing is made. Raises: SpecError kinds."""
    if isinstance(source, str | Path):
        loaded = load_env(source, overrides)
        return LoadedEnvironment(loaded.spec, loaded.root, [str(w) for w in loaded.warnings])
    if isinstance(source, EnvSpec) and not overrides:
        return LoadedEnvironment(source, None, [])
    data = source.to_dict() if isinstance(source, EnvSpec) else source
    if not isinstance(data, Mapping):
        raise SpecInvalid(f"an environment is a folder, a file, a dict or an EnvSpec, not {type(source).__name__}")
    spec, warnings = checked_env(data, overrides)
    return LoadedEnvironment(spec, None, [str(w) for w in warnings])
