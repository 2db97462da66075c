"""Which environment the replicas of a pool are of, and rules that fit it. Plain data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.factory import load_environment, make
from gym_anything.episode.hooks import HOOK_TIMEOUT
from gym_anything.episode.judging import VERIFIER_TIMEOUT
from gym_anything.episode.task_choice import choose_task
from gym_anything.pool.guard import GuardRules
from gym_anything.pool.pool import PoolRules
from gym_anything.pool.replica_state import ReplicaRules
from gym_anything.pool.task_request import TaskRequest
from gym_anything.runtime.runners.select import choose_runner
from gym_anything.specs.env_spec import EnvSpec

if TYPE_CHECKING:
    from gym_anything.pool.environment_world import EnvironmentWorld

_BRING_UP_S, _JUDGE_S = 600.0, 600.0
_OVERHEAD_MIB = 256.0
READS = frozenset({"observe", "describe", "copy_from"})
"""Operations of ``EnvironmentWorld`` that change nothing in it."""


@dataclass(frozen=True)
class EnvironmentChoice:
    """What ``make`` is called with for each replica, and what its worlds start from.

    Attributes:
        env: folder, file or spec of the environment. The other names are those of ``gym_anything.make``.
        cache_level: worlds come from a checkpoint of this level (``pre_start``, ``post_start``), which the first
            replica makes; None: each is started from nothing.
        use_savevm: that checkpoint has memory and programs, too.
    """

    env: str | Path | Mapping[str, Any] | EnvSpec
    overrides: Mapping[str, Any] | None = None
    fast_io: bool = False
    strict_hooks: bool = False
    runner: str | None = None
    pacing: str | None = None
    settle_ignore: Sequence[Sequence[int]] | None = None
    cache_level: str | None = None
    use_savevm: bool = False

    def make_world(self) -> EnvironmentWorld:
        """Return a new world of a replica. Cheap: nothing is loaded before its ``create``."""
        from gym_anything.pool.environment_world import EnvironmentWorld  # which knows us

        return EnvironmentWorld(self)

    def make_env(self) -> GymAnythingEnv:
        """Return a new environment without a task. Raises: as ``make``."""
        return make(
            self.env,
            overrides=self.overrides,
            fast_io=self.fast_io,
            strict_hooks=self.strict_hooks,
            runner=self.runner,
            pacing=self.pacing,
            settle_ignore=self.settle_ignore,
        )

    def cache_arguments(self) -> dict[str, Any]:
        """Return the arguments about the cache, alike for ``warm_up`` and ``reset``."""
        if self.cache_level is None:
            return {"use_cache": False, "cache_level": "pre_start", "use_savevm": False}
        return {"use_cache": True, "cache_level": self.cache_level, "use_savevm": self.use_savevm}

    def with_runner(self) -> EnvironmentChoice:
        """Return the same with its runner chosen: once for all replicas. Raises: SpecError, PluginError kinds."""
        spec = load_environment(self.env, self.overrides).spec
        return dataclasses.replace(self, runner=choose_runner(spec, os.environ, argument=self.runner).name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data. Raises: TypeError for a spec that is none."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if isinstance(self.env, str | Path):
            data["env"] = str(Path(self.env).absolute())
        elif isinstance(self.env, EnvSpec):
            data["env"] = self.env.to_dict()
        return json.loads(json.dumps(data))  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EnvironmentChoice:
        """Rebuild from ``to_dict``."""
        return cls(**data)

    @property
    def kind(self) -> str:
        """Names what its worlds have in common: those of one kind need about the same memory."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """How long tasks of one environment may take, as ``PoolRules.limit_of``: plain data, called with a task.

    Attributes:
        root: the environment's folder, if it has one. bring_up_s: how long a world may take until its task is set up.
    """

    root: Path | None
    bring_up_s: float

    def __call__(self, task: Any) -> float | None:
        """Return seconds: the episode's own limit, and all that its set-up and its judge may take; None: no limit.

        Args: task: a request, as ``TaskRequest.read`` takes it. Blocks: reads the task's file. Raises: SpecError kinds.
        """
        request = TaskRequest.read(task)
        spec = choose_task(request.task, self.root).spec
        timeout_s = request.timeout_sec
        if spec is None:
            return None if timeout_s is None else self.bring_up_s + timeout_s + _JUDGE_S
        hooks = [hook for hook in (spec.init.init_script, spec.hooks.post_task) if hook]
        more_s = spec.hooks.pre_task_timeout + len(hooks) * HOOK_TIMEOUT.get() + (spec.post_task_settle_sec or 0.0)
        judge_s = max(_JUDGE_S, VERIFIER_TIMEOUT.get(), *_numbers(spec.success.spec, request.verifier))
        return self.bring_up_s + more_s + (spec.init.timeout_sec if timeout_s is None else timeout_s) + judge_s


def _numbers(*given: Mapping[str, Any]) -> list[float]:
    """Return how long judges may take that say so themselves."""
    found = [one.get("timeout_sec") for one in given]
    return [float(one) for one in found if isinstance(one, int | float)]


def environment_rules(choice: EnvironmentChoice, *, least: int, most: int | None = None, **changes: Any) -> PoolRules:
    """Return rules for a pool of these environments: limits of time that leave room for their hooks and judges.

    A task may take as long as its own ``timeout_sec`` says, and its set-up and judge beyond that.

    Args: most: None: as many as ``least``. changes: other fields of ``PoolRules``.
    Raises: as ``make`` for an environment that cannot be loaded.
    """
    loaded = load_environment(choice.env, choice.overrides)
    spec = loaded.spec
    hooks = [hook for hook in (spec.hooks.pre_start, spec.hooks.post_start) if hook]
    bring_up_s = _BRING_UP_S + len(hooks) * HOOK_TIMEOUT.get()
    replica = ReplicaRules(create_limit_s=bring_up_s, reset_limit_s=bring_up_s + _JUDGE_S)
    memory_gb = spec.resources.mem_gb
    guard = GuardRules() if not memory_gb else GuardRules(unknown_mib=memory_gb * 1024 + _OVERHEAD_MIB)
    anew = [hook for hook in (spec.hooks.reset, spec.reset_script) if hook]
    limit_of = TaskLimits(loaded.root, bring_up_s + len(anew) * HOOK_TIMEOUT.get())
    rules: dict[str, Any] = {"kind": choice.kind, "cold": choice.cache_level is None, "reads": READS}
    rules["limit_of"] = limit_of
    rules |= {"replica": replica, "guard": guard, **changes}
    return PoolRules(least=least, most=least if most is None else most, **rules)
