"""What a pool costs beyond its worlds: throughput, latency and processor time from one replica to a thousand.

The worlds are simulated: they take their time and nothing else, so that what is measured is ours. Everything goes
through the data server. Episodes are not in step with each other, as policies are not; what it costs when all are, as a
batch, is measured apart.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything.measure.simulated_world import SimulatedTimes, simulated_worlds
from gym_anything.pool.data_server import AsyncDataServer
from gym_anything.pool.guard import HostReading
from gym_anything.pool.host_reading import read_host
from gym_anything.pool.pool import Pool, PoolRules
from gym_anything.pool.shards.sharded_pool import ShardedPool, shard_count
from gym_anything.pool.shards.source import WorldSource

OnNews = Callable[[str, float], None]
_ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
_UP_S, _TASK_S, _BATCHES = 180.0, 600.0, 3
_WORLDS = "gym_anything.measure.simulated_world:simulated_worlds"


@dataclass(frozen=True, slots=True)
class ScaleRequest:
    """What is measured.

    Attributes:
        step_s, steps: what a world takes, and how many steps each replica does.
        shards: in how many processes; 0: in this one; None: as many as the rule says (``shard_count``).
    """

    step_s: float = 1.0
    steps: int = 10
    shards: int | None = None


@dataclass
class ScaleFound:
    """What a pool of one size did.

    Attributes:
        shards: processes of its replicas; 0: none of their own. ready_s: from nothing to all replicas idle.
        check_out_ms: of warm replicas, one after another. added_ms: beyond what its world took, of each step.
        batch_ms: the same of whole batches, every replica at once. efficiency: steps a second of each replica, as a
            share of what its world could do by itself; the mean.
        cpu_ms: of all our processes, for each step; what so many worlds take by themselves is not in it.
        world_cpu_ms: that.
    """

    count: int
    shards: int
    ready_s: float = 0.0
    check_out_ms: list[float] = field(default_factory=list)
    added_ms: list[float] = field(default_factory=list)
    batch_ms: list[float] = field(default_factory=list)
    efficiency: float = 0.0
    cpu_ms: float = 0.0
    world_cpu_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        added = np.array(self.added_ms)
        return {
            "count": self.count,
            "shards": self.shards,
            "ready_s": round(self.ready_s, 3),
            "check_out_ms_p50": round(float(np.percentile(self.check_out_ms, 50)), 4),
            "added_ms_p50": round(float(np.percentile(added, 50)), 3),
            "added_ms_p99": round(float(np.percentile(added, 99)), 3),
            "batch_added_ms_p50": round(float(np.percentile(self.batch_ms, 50)), 3),
            "cpu_ms_per_step": round(self.cpu_ms, 4),
            "world_cpu_ms_per_step": round(self.world_cpu_ms, 4),
            "efficiency": round(self.efficiency, 4),
        }


def measure_scale(
    counts: Sequence[int], request: ScaleRequest, on_news: OnNews = lambda what, share: None
) -> list[ScaleFound]:
    """Measure pools of these sizes, one after another."""
    times = SimulatedTimes(step_s=request.step_s, spread=0.0)
    on_news("worlds without a pool", 0.0)
    world_cpu_ms = _bare_cpu_ms(times)
    found = []
    for number, count in enumerate(counts):
        on_news(f"{count} replicas", number / len(counts))
        found.append(asyncio.run(_measure_one(count, times, request, world_cpu_ms)))
    return found


def new_pool(count: int, times: SimulatedTimes, shards: int) -> Pool:
    """Return a fixed pool of simulated worlds, in so many processes; 0: in this one."""
    rules = PoolRules(least=count, most=count)
    if shards == 0:
        return Pool(simulated_worlds(asdict(times)), rules, read=lambda: _ROOMY)
    return ShardedPool(WorldSource(_WORLDS, {"times": asdict(times)}), rules, shards=shards, read=lambda: _ROOMY)


async def _measure_one(count: int, times: SimulatedTimes, request: ScaleRequest, world_cpu_ms: float) -> ScaleFound:
    shards = shard_count(count, read_host().cores) if request.shards is None else min(request.shards, count)
    found = ScaleFound(count, shards, world_cpu_ms=world_cpu_ms)
    began = time.perf_counter()
    pool = new_pool(count, times, shards)
    async with AsyncDataServer(pool) as server:
        await pool.ready(count, Deadline.after(_UP_S))
        found.ready_s = time.perf_counter() - began
        found.check_out_ms = await check_out(pool)
        await pool.ready(count, Deadline.after(_UP_S))
        replies = await server.reset([None] * count, deadline=Deadline.after(_UP_S))
        episodes = [reply.episode for reply in replies if reply.ok]
        processes = [os.getpid(), *(shard["pid"] for shard in pool.status().get("shards", []))]
        cpu = sum(map(proc.cpu_s, processes))
        shares = await asyncio.gather(
            *(_play(server, one, number / count, request, found) for number, one in enumerate(episodes))
        )
        cpu = sum(map(proc.cpu_s, processes)) - cpu
        for _ in range(_BATCHES):
            await _batch(server, episodes, found)
    found.cpu_ms = max(0.0, cpu * 1000 / (count * request.steps) - world_cpu_ms)
    found.efficiency = sum(shares) / count
    return found


async def _play(server: AsyncDataServer, episode: str, share: float, request: ScaleRequest, found: ScaleFound) -> float:
    """Do the steps of one episode, begun at its share of a step; return its efficiency."""
    loop = asyncio.get_running_loop()
    begun = loop.create_future()
    loop.call_later(share * request.step_s, begun.set_result, None)
    await begun
    first = time.perf_counter()
    for number in range(request.steps):
        began = time.perf_counter()
        (reply,) = await server.step([(episode, number)], deadline=Deadline.after(_TASK_S))
        if reply.error is not None:
            raise reply.error
        found.added_ms.append((time.perf_counter() - began - reply.value["took_s"]) * 1000)
    return request.steps * request.step_s / (time.perf_counter() - first)


async def _batch(server: AsyncDataServer, episodes: Sequence[str], found: ScaleFound) -> None:
    began = time.perf_counter()
    replies = await server.step([(episode, 0) for episode in episodes], deadline=Deadline.after(_TASK_S))
    slowest = max(reply.value["took_s"] for reply in replies)
    found.batch_ms.append((time.perf_counter() - began - slowest) * 1000)


async def check_out(pool: Pool) -> list[float]:
    """Check warm replicas out and in, as many as there are, at most a hundred."""
    spans = []
    leases = []
    for _ in range(min(100, pool.rules.most)):
        began = time.perf_counter()
        leases.append(await pool.acquire(Deadline.after(_UP_S)))
        spans.append((time.perf_counter() - began) * 1000)
    for lease in leases:
        lease.release()
    return spans


def _bare_cpu_ms(times: SimulatedTimes, count: int = 32, steps: int = 3) -> float:
    """Return the processor time of one step of a world that nobody manages: as many in threads as a shard has."""
    make = simulated_worlds(asdict(times))

    def play() -> None:
        world = make()
        for number in range(steps):
            world.perform("step", number)

    threads = [threading.Thread(target=play) for _ in range(count)]
    began = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.process_time() - began) * 1000 / (count * steps)
