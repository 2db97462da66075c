"""What a replica costs a day: how many fit on a server, and what the server costs. Pure arithmetic.

Loads that peak at different times share processors: ``k`` replicas of mean ``u`` and peak ``p`` cores need
``k u + (p - u) sqrt(k)`` cores together, which is ``p`` for one and tends to ``k u`` for many (independent loads, at
the same number of deviations above their mean). Memory is not shared that way: each needs its own.

Source: the OSGym paper's section on grouping replicas. ``paper_claims`` says which of its figures do not reconcile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FREE_MEMORY_SHARE = 0.10
"""What the guard keeps free."""


@dataclass(frozen=True, slots=True)
class Server:
    """A machine and its price."""

    name: str
    cores: float
    memory_gib: float
    usd_per_day: float


@dataclass(frozen=True, slots=True)
class Demand:
    """What one replica takes: cores on average and at its peak, memory of its own, and memory that all share once."""

    mean_cores: float
    peak_cores: float
    memory_gib: float
    shared_gib: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.mean_cores <= self.peak_cores or self.peak_cores <= 0 or self.memory_gib <= 0:
            raise ValueError("a replica takes memory, and at its peak at least as many cores as on average")

    def cores(self, count: int) -> float:
        """Return the cores that so many need together."""
        return count * self.mean_cores + (self.peak_cores - self.mean_cores) * math.sqrt(count)

    def memory(self, count: int) -> float:
        """Return the GiB that so many need together."""
        return self.shared_gib + count * self.memory_gib


@dataclass(frozen=True, slots=True)
class Packing:
    """How many replicas a server holds, what ends it, and what each costs a day."""

    server: Server
    count: int
    bound_by: str

    @property
    def usd_per_replica_day(self) -> float:
        """The server's price, shared; infinite where not one fits."""
        return self.server.usd_per_day / self.count if self.count else math.inf


def pack(server: Server, demand: Demand) -> Packing:
    """Return how many fit. Memory keeps its free share; cores may be used up."""
    room_gib = server.memory_gib * (1 - FREE_MEMORY_SHARE) - demand.shared_gib
    by_memory = max(0, math.floor(room_gib / demand.memory_gib + 1e-9))
    count = 0
    while count < by_memory and demand.cores(count + 1) <= server.cores + 1e-9:
        count += 1
    return Packing(server, count, "memory" if count == by_memory else "cores")


@dataclass(frozen=True, slots=True)
class Claim:
    """One of the paper's figures, what it comes to when it is computed, and whether the two agree within a tenth."""

    words: str
    said: float
    computed: float
    note: str

    @property
    def agrees(self) -> bool:
        """Within a tenth."""
        return abs(self.said - self.computed) <= 0.1 * self.said


_REPLICAS, _A_DAY_AT_1, _A_DAY_AT_64 = 128, 300.0, 30.0
_SMALL_SERVER_HOUR = 0.096
"""USD an hour for 2 cores and 8 GB on demand with a large cloud."""
_DATASET_REPLICAS, _DATASET_USD, _TRAJECTORIES_A_MINUTE = 1024, 43.0, 1420
_LIMIT_GIB = 6.0
_ON_DEMAND_GIB_DAY = 0.1
"""USD for one GiB and day of on-demand memory: about 0.004 an hour with the large clouds."""


def paper_claims() -> list[Claim]:
    """Return the paper's figures of cost beside what follows from each other, and from memory at cloud prices."""
    per_replica = _A_DAY_AT_64 / _REPLICAS
    memory_alone = _LIMIT_GIB * _ON_DEMAND_GIB_DAY
    hours = _DATASET_USD / (per_replica * _DATASET_REPLICAS / 24)
    return [
        Claim(
            "a replica's day at K = 1, in USD",
            _A_DAY_AT_1 / _REPLICAS,
            24 * _SMALL_SERVER_HOUR,
            "300 USD a day for 128 replicas: a server of 2 cores and 8 GB for each, on demand",
        ),
        Claim("a replica's day at K = 64, in USD", 0.234, per_replica, "30 USD a day for 128 replicas"),
        Claim(
            "a day of the 88-core, 768 GB server that holds them, in USD",
            _A_DAY_AT_64,
            0.23 * _REPLICAS,
            "0.23 USD for each of 128: 1.23 USD an hour, what a rented old server costs, not a cloud's on-demand one",
        ),
        Claim(
            "a replica's day by the memory it may use (6 GB), at on-demand prices, in USD",
            0.234,
            memory_alone,
            "memory alone costs more than the replica is said to: it must use less, or be rented otherwise",
        ),
        Claim(
            "128 replicas of 6 GB on 768 GB with a tenth kept free",
            _REPLICAS,
            pack(Server("88 cores, 768 GB", 88, 768, _A_DAY_AT_64), Demand(0.3, 2, _LIMIT_GIB)).count,
            "the paper's own guard would stop before: 6 GB is a limit, not what they use",
        ),
        Claim(
            'minutes for the data set of 43 USD on 1,024 replicas ("within minutes", taken as 60)',
            60,
            hours * 60,
            f"at 0.234 USD a day each; 1,420 a minute make {hours * 60 * _TRAJECTORIES_A_MINUTE:,.0f} then",
        ),
    ]
