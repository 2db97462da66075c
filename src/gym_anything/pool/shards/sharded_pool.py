"""A pool whose replicas live in processes of their own: the same pool to whoever uses it.

::

    source = WorldSource.of_environments(choice)
    with DataServer(lambda: ShardedPool(source, environment_rules(choice, least=128))) as server:
        ...

State managers live in *shards*, processes with some replicas each; queueing, leases and the guard stay here. A shard
that dies or hangs is killed and another one takes its replicas on; tasks that ran there end as when a world is lost
(``ReplicaFailed``), and ``run_task`` does them again. Shards die with this process, however that ends.

Results come as they do in one process. Arrays in them are read-only views of memory that the shard writes, without a
copy here: **valid until the next operation of the same lease**; copy what you keep (``array.copy()``). The ``screen``
of fast mode does that by itself: one that you still hold becomes your own copy before its memory is written again.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

from gym_anything.pool.guard import Guard, HostReading
from gym_anything.pool.host_reading import read_host
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.pool import Pool, PoolRules
from gym_anything.pool.replica_contract import PooledReplica
from gym_anything.pool.shards.remote_replica import RemoteReplica
from gym_anything.pool.shards.shard import Shard, ShardRules
from gym_anything.pool.shards.source import WorldSource
from gym_anything.pool.world import ReplicaWorld

REPLICAS_OF_A_SHARD = 32


def shard_count(replicas: int, cores: float) -> int:
    """Return how many shards a pool of so many replicas has: ``max(cores, ceil(replicas / 32))``, none without work."""
    return min(replicas, max(math.ceil(cores), math.ceil(replicas / REPLICAS_OF_A_SHARD)))


class ShardedPool(Pool):
    """See ``Pool``; its worlds are named instead of made here."""

    def __init__(
        self,
        source: WorldSource,
        rules: PoolRules,
        *,
        shards: int | None = None,
        shard_rules: ShardRules | None = None,
        read: Callable[[], HostReading] = read_host,
        clock: Callable[[], float] = time.monotonic,
        observer: PoolObserver | None = None,
        guard: Guard | None = None,
        label: str = "",
    ) -> None:
        """Nothing is started before ``start``.

        Args: shards: how many processes; None: as ``shard_count`` says. The others: as of ``Pool``.
        Raises: ValueError for less than one.
        """
        super().__init__(_nowhere, rules, read=read, clock=clock, observer=observer, guard=guard, label=label)
        count = shard_count(rules.most, read().cores) if shards is None else shards
        if count < 1:
            raise ValueError(f"a pool has at least one shard, not {count}")
        self._shards = [
            Shard(number, source, rules.replica, shard_rules or ShardRules(), self.admission, self, clock)
            for number in range(1, count + 1)
        ]

    def start(self) -> None:
        """See ``Pool``. Blocks some milliseconds for each shard. Raises: ProcessStartFailed, SupervisorLost."""
        for shard in self._shards:
            shard.start()
        super().start()

    async def stop(self) -> None:
        """See ``Pool``."""
        try:
            await super().stop()
        finally:
            await asyncio.gather(*(shard.stop() for shard in self._shards))

    def status(self) -> dict[str, Any]:
        """See ``Pool``; with ``shards``: ``number``, ``pid``, ``replicas``, ``deaths`` of each."""
        return {**super().status(), "shards": [shard.status() for shard in self._shards]}

    def _try_one(self) -> PooledReplica | None:
        """See ``Pool``; where no shard is left, it is tried with another process."""
        if all(shard.gone for shard in self._shards):
            self._shards[0].begin_anew()
        return super()._try_one()

    def _refill(self) -> None:
        """See ``Pool``; what one shard can do again, the others can try."""
        for shard in self._shards:
            shard.begin_anew()
        super()._refill()

    def _new_replica(self, number: int) -> PooledReplica:
        """Return another replica, in the shard with the fewest."""
        shard = min(self._shards, key=lambda one: (bool(one.gone), len(one.replicas)))
        replica = RemoteReplica(number, self, self.rules.replica, self._clock)
        shard.add(replica)
        return replica


def _nowhere() -> ReplicaWorld:
    raise AssertionError("the worlds of a sharded pool are made in its shards")
