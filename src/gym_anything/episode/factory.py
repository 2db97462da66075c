"""From files, dicts or specs to an environment: load, choose the world, check what it can enforce."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec

    from gym_anything.episode.env import GymAnythingEnv


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
        pacing: ``legacy`` (default) or ``fast``; by default follows ``fast_io``.
    Raises: SpecError kinds, PluginError kinds, UnsupportedFeature. Nothing is started yet.
    """
    raise NotImplementedError


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
    """Make an environment from paths, dicts or specs; ``task`` may be a task id when ``env`` is a folder."""
    raise NotImplementedError
