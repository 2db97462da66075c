"""What a pool of real worlds does: until all are ready, check-out, memory, and whether they stay well at work."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GymAnythingError
from gym_anything.measure.passing_time import pass_time
from gym_anything.measure.pool_series import check_out
from gym_anything.measure.world_pool import OnNews, WorldPool, pss_gb, world_pool, world_processes
from gym_anything.pool.host_reading import read_host
from gym_anything.pool.pool import Lease
from gym_anything.pool.replica_state import State

_UP_S = 900.0


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """What is measured.

    Attributes:
        kind: ``desktop`` (local ones) or ``vm``, forked machines. count: of them.
        stay_s: how long they are at work, each doing a light step every ``step_every_s`` seconds.
    """

    kind: str
    count: int = 128
    stay_s: float = 60.0
    step_every_s: float = 10.0


@dataclass
class PoolFound:
    """What it took.

    Attributes:
        ready_s: from an empty pool to all replicas idle. check_out_ms: of warm ones, one after another.
        pss_gb: proportional memory of all worlds when ready; ``host_gb``: what this host has less then.
        answered: worlds whose first step gave a picture. healthy: worlds that are, at the end, still the one they were
            at first, and answer. step_ms: of light steps, with a picture. failed_steps: with an error.
    """

    request: PoolRequest
    ready_s: float = 0.0
    check_out_ms: list[float] = field(default_factory=list)
    pss_gb: float = 0.0
    host_gb: float = 0.0
    answered: int = 0
    healthy: int = 0
    step_ms: list[float] = field(default_factory=list)
    failed_steps: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        steps = np.array(self.step_ms or [float("nan")])
        return {
            "kind": self.request.kind,
            "count": self.request.count,
            "ready_s": round(self.ready_s, 3),
            "check_out_ms_p50": round(float(np.percentile(self.check_out_ms, 50)), 4),
            "pss_gb": round(self.pss_gb, 3),
            "host_gb": round(self.host_gb, 3),
            "answered": self.answered,
            "stay_s": self.request.stay_s,
            "healthy": self.healthy,
            "steps": len(self.step_ms),
            "step_ms_p50": round(float(np.percentile(steps, 50)), 3),
            "step_ms_p95": round(float(np.percentile(steps, 95)), 3),
            "failed_steps": len(self.failed_steps),
            "failures": sorted(set(self.failed_steps))[:5],
        }


def measure_pool(request: PoolRequest, on_news: OnNews = lambda what, share: None) -> PoolFound:
    """Have so many worlds come up in a pool and work. Leaves nothing, save what machines are forked from.

    Blocks: as long as they stay, and a minute or two. Raises: NoReplica with what holds them up.
    """
    with world_pool(request.kind, request.count, on_news) as of:
        return asyncio.run(_measure(request, of, on_news))


async def _measure(request: PoolRequest, of: WorldPool, on_news: OnNews) -> PoolFound:
    found = PoolFound(request)
    on_news(f"{request.count} replicas", 0.1)
    before = read_host().available_mib
    began = time.perf_counter()
    async with of.make() as pool:
        await pool.ready(request.count, Deadline.after(_UP_S))
        found.ready_s = time.perf_counter() - began
        found.check_out_ms = await check_out(pool)
        await pool.ready(request.count, Deadline.after(_UP_S))
        found.host_gb = (before - read_host().available_mib) * 2**20 / 1e9
        found.pss_gb = pss_gb(world_processes())
        on_news("at work", 0.3)
        ends = Deadline.after(request.stay_s)
        leases = [await pool.acquire(Deadline.after(_UP_S)) for _ in range(request.count)]
        answers = await asyncio.gather(*(_work(found, lease, ends, request.step_every_s) for lease in leases))
        found.answered = sum(first for first, _ in answers)
        found.healthy = sum(last for _, last in answers)
        on_news("ending", 0.9)
        for lease in leases:
            lease.release()
        assert pool.counts()[State.RETIRED] == 0
    return found


async def _work(found: PoolFound, lease: Lease, ends: Deadline, every_s: float) -> tuple[bool, bool]:
    """Do a light step every few seconds; return whether the first and the last one gave a picture."""
    try:
        await lease.perform("reset", None)
    except GymAnythingError as error:
        found.failed_steps.append(f"reset: {error}")
        return False, False
    first = last = await _step(found, lease, 0)
    number = 0
    while not ends.expired():
        await pass_time(min(every_s, ends.remaining()))
        number += 1
        last = await _step(found, lease, number)
    return first, last and not lease.ended


async def _step(found: PoolFound, lease: Lease, number: int) -> bool:
    began = time.perf_counter()
    try:
        value = await lease.perform("step", {"mouse": {"move": [20 + number % 500, 30]}})
    except GymAnythingError as error:
        found.failed_steps.append(str(error))
        return False
    found.step_ms.append((time.perf_counter() - began) * 1000)
    return "screen" in value["observation"]
