"""Of what a pool is that the command line starts: an environment, or simulated worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything._util.state_dir import LOGS, state_root
from gym_anything.errors import StateError
from gym_anything.pool.guard import GuardRules
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.pool import Pool, PoolRules
from gym_anything.pool.shards.sharded_pool import ShardedPool
from gym_anything.pool.shards.source import WorldSource
from gym_anything.pool.started.folder import check_name, find_pools
from gym_anything.pool.started.serve import ServePlan

if TYPE_CHECKING:
    from gym_anything.cli.pool_start import StartOptions

_SIMULATED_MIB = 1.0
_SIMULATED = "gym_anything.measure.simulated_world:simulated_worlds"


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """What is to be started. ``least``: replicas that are awaited."""

    plan: ServePlan
    least: int
    make_pool: Callable[[PoolObserver], Pool]


def choose_pool(options: StartOptions) -> PoolChoice:
    """Return the pool that the options mean; nothing of it is made.

    Raises: click.UsageError, SettingInvalid, StateError (the name is taken), SpecError and PluginError kinds.
    """
    if options.simulated == (options.env is not None):
        raise click.UsageError("name an environment, or give --simulated")
    least, most = options.size()
    choice = _simulated(options, least, most) if options.simulated else _environment(options, least, most)
    for entry in find_pools():
        if entry.name == choice.plan.name and not _is_this_process(entry.pid):
            raise StateError(f"a pool named {entry.name} runs already (process {entry.pid}); give another --name")
    return choice


def _simulated(options: StartOptions, least: int, most: int) -> PoolChoice:
    source = WorldSource(_SIMULATED, {"times": {"step_s": options.step_s}})
    guard = GuardRules(unknown_mib=_SIMULATED_MIB)
    rules = PoolRules(least=least, most=most, kind="simulated", task_limit_s=options.task_limit_s, guard=guard)
    return PoolChoice(_plan(options, "simulated", "simulated", {}), least, _maker(source, rules, options.shards))


def _environment(options: StartOptions, least: int, most: int) -> PoolChoice:
    from gym_anything.benchmark.layout import find_env_dir
    from gym_anything.episode.factory import load_environment
    from gym_anything.pool.environment_choice import EnvironmentChoice, environment_rules
    from gym_anything.specs.secret_refs import load_secrets

    assert options.env is not None
    folder = find_env_dir(options.env, options.benchmark)
    choice = EnvironmentChoice(
        str(folder),
        fast_io=options.fast_io,
        runner=options.runner,
        cache_level=options.cache_level,
        use_savevm=options.use_savevm,
    ).with_runner()
    rules = environment_rules(choice, least=least, most=most, task_limit_s=options.task_limit_s)
    secrets = load_secrets(load_environment(folder).spec, folder)
    facts = {"world_runner": choice.runner, "env_dir": str(folder)}
    plan = _plan(options, folder.name, folder.name, facts, tuple(secrets.values()))
    return PoolChoice(plan, least, _maker(WorldSource.of_environments(choice), rules, options.shards))


def _maker(source: WorldSource, rules: PoolRules, shards: int | None) -> Callable[[PoolObserver], Pool]:
    def make(observer: PoolObserver) -> Pool:
        if shards == 0:
            return Pool(source.load(), rules, observer=observer)
        return ShardedPool(source, rules, shards=shards, observer=observer)

    return make


def _plan(
    options: StartOptions, default_name: str, environment: str, facts: dict[str, Any], secrets: tuple[str, ...] = ()
) -> ServePlan:
    name = default_name if options.name is None else options.name
    check_name(name)
    least, most = options.size()
    more = {"least": least, "most": most, "words": options.words(), "env": options.env, "cwd": str(Path.cwd())}
    log = state_root() / LOGS / f"pool-{name}.jsonl"
    metrics = options.metrics_port
    return ServePlan(name, environment, {**more, **facts}, log, metrics, secrets)


def _is_this_process(pid: int) -> bool:
    import os

    return pid == os.getpid()
