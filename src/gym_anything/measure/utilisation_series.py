"""How busy worlds are while a slow policy thinks: batches that step together, beside episodes that each go on alone.

The worlds and the policy are simulated and take their time only; both ways get the same latencies, drawn with a long
tail. Source of the comparison: the OSGym paper's rollouts, which are decoupled, and DART's (5.5 times batch-wise).
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gym_anything.measure.passing_time import pass_time
from gym_anything.measure.simulated_world import SimulatedFaults, SimulatedTimes, SimulatedWorld
from gym_anything.pool.data_server import AsyncDataServer
from gym_anything.pool.guard import HostReading
from gym_anything.pool.pool import Pool, PoolRules

OnNews = Callable[[str, float], None]
_ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
WAYS = ("batch", "alone")
LENGTHS = ("equal", "drawn")


@dataclass(frozen=True, slots=True)
class UtilisationRequest:
    """What is played: ``episodes`` on ``replicas``; chance begins with ``seed``.

    Attributes:
        step_s: what a world takes. policy_times: a policy's mean latency, in steps. sigma: of the logarithm of its
            latency; the longer the tail, the larger. steps: of an episode, on average.
    """

    episodes: int = 512
    replicas: int = 128
    steps: int = 8
    step_s: float = 0.01
    policy_times: float = 10.0
    sigma: float = 1.0
    seed: int = 1


@dataclass
class UtilisationFound:
    """The share of time that worlds were at work: by lengths of episodes and way; and how many times as busy."""

    request: UtilisationRequest
    busy: dict[tuple[str, str], float] = field(default_factory=dict)
    wall_s: dict[tuple[str, str], float] = field(default_factory=dict)

    def times(self, lengths: str) -> float:
        """Return how many times as busy worlds are when each episode goes on alone."""
        return self.busy[lengths, "alone"] / self.busy[lengths, "batch"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        found: dict[str, Any] = {}
        for lengths in LENGTHS:
            for way in WAYS:
                found[f"{lengths}_{way}_busy_percent"] = round(100 * self.busy[lengths, way], 3)
                found[f"{lengths}_{way}_s"] = round(self.wall_s[lengths, way], 3)
            found[f"{lengths}_times"] = round(self.times(lengths), 2)
        return found


Episode = list[float]
"""How long the policy thinks before each step, in seconds."""


def draw(request: UtilisationRequest, lengths: str) -> list[Episode]:
    """Return the episodes: latencies have a lognormal distribution, drawn lengths an exponential one (at least 1)."""
    chance = random.Random(request.seed)
    mean_s = request.policy_times * request.step_s
    middle = math.log(mean_s) - request.sigma**2 / 2
    found = []
    for _ in range(request.episodes):
        drawn = 1 + round(chance.expovariate(1 / (request.steps - 1))) if request.steps > 1 else 1
        steps = request.steps if lengths == "equal" else drawn
        found.append([chance.lognormvariate(middle, request.sigma) for _ in range(steps)])
    return found


def measure_utilisation(request: UtilisationRequest, on_news: OnNews = lambda what, share: None) -> UtilisationFound:
    """Play the same episodes in both ways. Blocks: about two minutes with the defaults."""
    found = UtilisationFound(request)
    for number, (lengths, way) in enumerate(itertools.product(LENGTHS, WAYS)):
        on_news(f"{lengths} lengths, {way}", number / 4)
        episodes = draw(request, lengths)
        busy_s, wall_s = asyncio.run(_play(request, episodes, _batches if way == "batch" else _alone))
        found.wall_s[lengths, way] = wall_s
        found.busy[lengths, way] = busy_s / (wall_s * request.replicas)
    return found


async def _play(request: UtilisationRequest, episodes: list[Episode], way: Any) -> tuple[float, float]:
    """Return how long all worlds were at work together, and how long it took."""
    times = SimulatedTimes(step_s=request.step_s, recycle_s=request.step_s, create_s=request.step_s, spread=0.0)
    seeds = itertools.count(1)

    def make() -> SimulatedWorld:
        return SimulatedWorld(times, SimulatedFaults(), next(seeds))

    count = request.replicas
    pool = Pool(make, PoolRules(least=count, most=count), read=lambda: _ROOMY)
    async with AsyncDataServer(pool) as server:
        began = time.perf_counter()
        busy_s = await way(server, episodes, count)
        return busy_s, time.perf_counter() - began


async def _batches(server: AsyncDataServer, episodes: list[Episode], count: int) -> float:
    """As many episodes as there are worlds begin together, and step together: whoever is slowest sets the pace."""
    busy_s = 0.0
    for first in range(0, len(episodes), count):
        batch = episodes[first : first + count]
        names = [reply.episode for reply in await server.reset(range(len(batch)))]
        for step in range(max(map(len, batch))):
            at_work = [number for number, episode in enumerate(batch) if step < len(episode)]
            await pass_time(max(batch[number][step] for number in at_work))
            replies = await server.step([(names[number], step) for number in at_work])
            busy_s += sum(reply.value["took_s"] for reply in replies)
        await server.close(names)
    return busy_s


async def _alone(server: AsyncDataServer, episodes: list[Episode], count: int) -> float:
    """Each episode begins when a world is free, and steps when its policy has answered."""

    async def one(number: int, episode: Episode) -> float:
        (begun,) = await server.reset([number])
        busy_s = 0.0
        for step, latency_s in enumerate(episode):
            await pass_time(latency_s)
            (reply,) = await server.step([(begun.episode, step)])
            busy_s += reply.value["took_s"]
        await server.close([begun.episode])
        return busy_s

    return sum(await asyncio.gather(*(one(number, episode) for number, episode in enumerate(episodes))))
