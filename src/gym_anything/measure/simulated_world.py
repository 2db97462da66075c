"""A world that only takes its time, and fails as often as it is told: for the shape of pools of any size."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gym_anything.errors import Aborted, InputNotDelivered, WorldLost
from gym_anything.pool.world import Vitals


@dataclass(frozen=True, slots=True)
class SimulatedTimes:
    """How long each takes, in seconds.

    Attributes:
        spread: how far it is drawn from that, evenly to both sides, as a share of it.
    """

    create_s: float = 0.08
    recycle_s: float = 0.06
    step_s: float = 1.0
    spread: float = 0.5


@dataclass(frozen=True, slots=True)
class SimulatedFaults:
    """How likely each is, at each turn: 0 to 1.

    Attributes:
        create: it does not come up. lost: the world goes in the middle of a step, with or without its input applied.
        refused: an input surely not applied. hung: a step that never ends unless it is aborted. recycle: no way back.
    """

    create: float = 0.0
    lost: float = 0.0
    refused: float = 0.0
    hung: float = 0.0
    recycle: float = 0.0


def simulated_worlds(
    times: Mapping[str, float] | None = None, faults: Mapping[str, float] | None = None, seed: int = 1
) -> Callable[[], SimulatedWorld]:
    """Return what makes worlds, each with a chance of its own; arguments are plain data, for ``WorldSource``."""
    seeds = itertools.count(seed)
    taken, failing = SimulatedTimes(**(times or {})), SimulatedFaults(**(faults or {}))
    return lambda: SimulatedWorld(taken, failing, next(seeds))


class SimulatedWorld:
    """See ``ReplicaWorld``. ``applied`` holds what steps were really applied, in order."""

    memory_mib = 42.0

    def __init__(
        self,
        times: SimulatedTimes,
        faults: SimulatedFaults,
        seed: int,
        on_news: Callable[[str, Any], None] = lambda what, argument: None,
    ) -> None:
        """Args: on_news: told "applied" with each input that is applied, and the name of each fault. In any thread."""
        self._times, self._faults, self._on_news = times, faults, on_news
        self._chance = random.Random(seed)
        self._aborted = threading.Event()
        self._lost = self._hung = False
        self.alive = False
        self.applied: list[Any] = []

    def create(self) -> None:
        """See ``ReplicaWorld``."""
        self.alive = True
        self._take(self._times.create_s)
        if self._fault("create"):
            raise WorldLost("simulated: it did not come up")

    def recycle(self) -> None:
        """See ``ReplicaWorld``."""
        self._take(self._times.recycle_s)
        if self._fault("recycle"):
            raise WorldLost("simulated: no way back")
        self.applied.clear()

    def probe(self, deep: bool) -> Vitals:
        """See ``ReplicaWorld``."""
        if self._lost:
            raise WorldLost("simulated: it is gone")
        if self._hung:
            self._aborted.wait()
        return Vitals(self.memory_mib)

    def perform(self, operation: str, argument: Any) -> Any:
        """See ``ReplicaWorld``: a ``step`` takes its time, anything else none."""
        if operation != "step":
            return {"operation": operation, "applied": list(self.applied)}
        if self._fault("refused"):
            raise InputNotDelivered("simulated: not delivered")
        if self._fault("hung"):
            self._hung = True
            self._take(float("inf"))
        took_s = self._take(self._times.step_s)
        lost = self._fault("lost")
        if not lost or self._chance.random() < 0.5:
            self.applied.append(argument)
            self._on_news("applied", argument)
        if lost:
            self._lost = True
            raise WorldLost("simulated: it went in the middle of a step")
        return {"step": argument, "took_s": took_s}

    def abort(self) -> None:
        """See ``ReplicaWorld``."""
        self._aborted.set()

    def destroy(self) -> None:
        """See ``ReplicaWorld``."""
        self.alive = False

    def _take(self, seconds: float) -> float:
        """Wait as long as it takes and return how long that really was: what a world needs is no cost of its pool."""
        drawn = seconds * (1 + self._times.spread * (2 * self._chance.random() - 1))
        began = time.perf_counter()
        if self._aborted.wait(None if drawn == float("inf") else drawn):
            raise Aborted("simulated: aborted")
        return time.perf_counter() - began

    def _fault(self, name: str) -> bool:
        happens = self._chance.random() < float(getattr(self._faults, name))
        if happens:
            self._on_news(name, None)
        return happens
