"""Pools of real worlds for measurements: local desktops, and machines that are forked from a saved one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gym_anything._util import proc
from gym_anything._util.labels import NO_WORLD
from gym_anything._util.orphan_processes import LabelledProcess, labelled_processes
from gym_anything.pool.environment_world import EnvironmentChoice, environment_rules
from gym_anything.pool.guard import GuardRules
from gym_anything.pool.pool import PoolRules
from gym_anything.pool.shards.sharded_pool import ShardedPool
from gym_anything.pool.shards.source import WorldSource

OnNews = Callable[[str, float], None]
KINDS = ("desktop", "vm")
_ESTIMATE_MIB = {"desktop": 80.0, "vm": 80.0}
"""What one takes, as far as the guard is concerned, before it is measured: what others of its kind were seen to."""
_AT_ONCE = {"desktop": 8, "vm": 4}


@dataclass(frozen=True)
class WorldPool:
    """What a pool of real worlds is made of."""

    choice: EnvironmentChoice
    rules: PoolRules

    def make(self) -> ShardedPool:
        """Return a new pool of them, its replicas in processes of their own; nothing is started."""
        return ShardedPool(WorldSource.of_environments(self.choice), self.rules)


def spec_of(kind: str, artifacts: str) -> dict[str, Any]:
    """Return the spec of the worlds that are measured."""
    found: dict[str, Any] = {
        "id": f"bench.pool.{kind}",
        "runner": "local",
        "observation": [{"type": "rgb_screen", "resolution": [1280, 800]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "recording": {"enable": False, "output_dir": artifacts},
    }
    if kind == "vm":  # one processor: of many machines on few, two virtual ones wait for each other more than they work
        found |= {"runner": "qemu_native", "resources": {"cpu": 1, "mem_gb": 1, "net": False}}
    return found


def choice_of(kind: str, spec: dict[str, Any]) -> EnvironmentChoice:
    """Return worlds of a spec, those that are machines forked from a saved one."""
    cache: dict[str, Any] = {"cache_level": "post_start", "use_savevm": True} if kind == "vm" else {}
    return EnvironmentChoice(spec, fast_io=True, **cache).with_runner()


def make_first(choice: EnvironmentChoice) -> None:
    """Bring one up and end it: what others are made from is there afterwards."""
    first = choice.make_world()
    try:
        first.create()
    finally:
        first.destroy()


@contextmanager
def world_pool(kind: str, count: int, on_news: OnNews, **changes: Any) -> Iterator[WorldPool]:
    """Give what a pool of so many is made of; what machines are forked from is there then.

    Args: changes: other fields of ``PoolRules``.
    Raises: MissingDependency with the fix; what worlds raise.
    """
    with tempfile.TemporaryDirectory(prefix="ga-pool-") as artifacts:
        choice = choice_of(kind, spec_of(kind, artifacts))
        rules: dict[str, Any] = {"guard": GuardRules(unknown_mib=_ESTIMATE_MIB[kind]), "cold": False}
        rules |= {"creating_at_once": _AT_ONCE[kind], **changes}
        on_news("a first world", 0.0)
        make_first(choice)
        yield WorldPool(choice, environment_rules(choice, least=count, **rules))


def world_processes() -> list[LabelledProcess]:
    """Return the processes of the worlds of this process and of its shards, also those that shed their label."""
    owners = {os.getpid(), *proc.descendants(os.getpid())}
    found: dict[int, LabelledProcess] = {}
    for one in labelled_processes():
        if one.label.owner.pid not in owners or one.label.world == NO_WORLD:
            continue
        found[one.pid] = one
        for pid in proc.descendants(one.pid):
            ticks, uid = proc.start_ticks(pid), proc.owner_uid(pid)
            if ticks is not None and uid is not None:
                command = " ".join(proc.command_line(pid))[:120]
                found.setdefault(pid, LabelledProcess(pid, ticks, uid, command, one.label))
    return list(found.values())


def pss_gb(processes: list[LabelledProcess]) -> float:
    """Return their proportional memory together, in 10^9 bytes. Blocks: a millisecond or so for each."""
    return sum(proc.pss_kib(process.pid) for process in processes) * 1024 / 1e9
