"""Chaos: episodes on a pool whose worlds fail in every way, and what became of each input and each episode.

The worlds are simulated and keep the only true record of what was applied.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff
from gym_anything.measure.simulated_world import SimulatedFaults, SimulatedTimes, SimulatedWorld
from gym_anything.pool.guard import HostReading
from gym_anything.pool.pool import Lease, Pool, PoolRules
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules
from gym_anything.pool.tasks import TaskOutcome, run_task

OnNews = Callable[[str, float], None]
_ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
_TIMES = SimulatedTimes(create_s=0.01, recycle_s=0.005, step_s=0.01)
_FAULTS = SimulatedFaults(create=0.05, lost=0.015, refused=0.04, hung=0.004, recycle=0.04)
_HEALTH = HealthRules(probe_every_s=0.1, probe_limit_s=0.3, missed_limit=2)
_LIMIT_S = 900.0


@dataclass(frozen=True, slots=True)
class ChaosRequest:
    """What is played: ``episodes`` of ``steps`` on ``replicas``; chance begins with ``seed``."""

    episodes: int = 2000
    steps: int = 8
    replicas: int = 64
    seed: int = 1


@dataclass
class ChaosFound:
    """What became of it.

    Attributes:
        faults: how many of each kind there were. lost: episodes without a result, although they were tried again.
        twice: inputs that were applied more than once. wrong: episodes whose result is not what was applied, in order.
        attempts: tries of all episodes. alive: worlds that were left at the end. disturbed: attempts that broke in
            worlds that had not failed.
    """

    request: ChaosRequest
    faults: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    attempts: int = 0
    alive: int = 0
    disturbed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        counts = {"lost": self.lost, "twice": self.twice, "wrong": self.wrong}
        counts |= {"disturbed": self.disturbed, "alive": self.alive}
        total = {"faults": sum(self.faults.values()), "fault_kinds": dict(self.faults)}
        return {"episodes": self.request.episodes, "attempts": self.attempts, **total, **counts}


class _Chaos:
    def __init__(self, request: ChaosRequest) -> None:
        self.found = ChaosFound(request)
        self._request = request
        self._applied: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()
        self._seeds = itertools.count(request.seed)
        self._worlds: list[SimulatedWorld] = []
        self._world_of: dict[str, int] = {}
        self._failed: set[int] = set()
        self._broken: list[str] = []

    def make(self) -> SimulatedWorld:
        number = next(self._seeds)
        world = SimulatedWorld(_TIMES, _FAULTS, number, partial(self._note, number))
        self._worlds.append(world)
        return world

    def _note(self, world: int, what: str, argument: Any) -> None:
        with self._lock:
            if what == "applied":
                self._applied[argument] += 1
                self._world_of[argument[0]] = world
            else:
                self.found.faults[what] += 1
                self._failed.add(world)

    async def play(self, on_news: OnNews) -> ChaosFound:
        request, done = self._request, itertools.count(1)
        rules = PoolRules(
            least=request.replicas,
            most=request.replicas,
            replica=ReplicaRules(back_off_s=0.01, back_off_max_s=0.5, crash_limit=1000, health=_HEALTH),
            retries=Backoff(attempts=11, base_s=0.002),
        )

        async def one() -> TaskOutcome[list[tuple[str, int]]]:
            outcome = await run_task(pool, self._episode, Deadline.after(_LIMIT_S), retries=50)
            on_news("episodes", next(done) / request.episodes)
            return outcome

        async with Pool(self.make, rules, read=lambda: _ROOMY) as pool:
            outcomes = await asyncio.gather(*(one() for _ in range(request.episodes)))
        for outcome in outcomes:
            self._judge(outcome)
        self.found.twice = sum(count > 1 for count in self._applied.values())
        self.found.alive = sum(world.alive for world in self._worlds)
        known = [self._world_of[lease] for lease in self._broken if lease in self._world_of]
        self.found.disturbed = sum(world not in self._failed for world in known)
        return self.found

    async def _episode(self, lease: Lease) -> list[tuple[str, int]]:
        try:
            await lease.perform("reset")
            for number in range(self._request.steps):
                await lease.perform("step", (lease.name, number))
            return list((await lease.perform("evaluate"))["applied"])
        except BaseException:
            self._broken.append(lease.name)
            raise

    def _judge(self, outcome: TaskOutcome[list[tuple[str, int]]]) -> None:
        self.found.attempts += len(outcome.attempts)
        if outcome.result is None:
            self.found.lost += 1
        elif [number for _, number in outcome.result] != list(range(self._request.steps)):
            self.found.wrong += 1


def measure_chaos(request: ChaosRequest, on_news: OnNews = lambda what, share: None) -> ChaosFound:
    """Play the episodes and count. Blocks about a minute with the defaults."""
    return asyncio.run(_Chaos(request).play(on_news))
