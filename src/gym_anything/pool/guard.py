"""The resource guard: whether this host can carry one world more. Decisions are pure and say their reason.

Source: the OSGym paper's resource guard; parameters and deviations as scale.md has them.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass
from typing import Literal

Kind = Literal["boot", "fork", "recovery"]
"""How a world comes up. A busy processor holds up cold boots only: forks and recovery must not block themselves."""
MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True)
class HostReading:
    """What the host, or the control group that we are in, has at present.

    Attributes:
        memory_mib: in all. available_mib: without swapping. cores: that we may use.
        load: runnable processes, averaged over a minute.
        waiting: share of the last ten seconds, 0 to 1, in which something waited for a processor (pressure-stall
            information); None where the kernel does not tell.
        limit: what bounds the memory, in words.
    """

    memory_mib: float
    available_mib: float
    cores: float
    load: float
    waiting: float | None = None
    limit: str = "this host"


@dataclass(frozen=True, slots=True)
class GuardRules:
    """How careful the guard is.

    Attributes:
        floor_share: share of the memory that stays free.
        floor_mib: least memory that stays free on hosts of at least ``big_host_mib``.
        load_per_core: bound for cold boots where the kernel tells no pressure. waiting: the bound where it does.
        unknown_mib: estimate for worlds of which none was measured yet.
        retry_after_s: hint in a refusal.
    """

    floor_share: float = 0.10
    floor_mib: float = 8 * MIB_OF_GIB
    big_host_mib: float = 32 * MIB_OF_GIB
    load_per_core: float = 4.0
    waiting: float = 0.6
    unknown_mib: float = 6 * MIB_OF_GIB
    retry_after_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a creation may begin, and why (not). ``short_of``: "memory" or "processor" where it may not."""

    admitted: bool
    reason: str
    retry_after_s: float = 0.0
    short_of: str = ""


class Estimates:
    """How much memory a world of a kind needs: learnt from those that were measured. A kind is a checkpoint's key."""

    def __init__(self, unknown_mib: float, *, keep: int = 64) -> None:
        self._unknown_mib = unknown_mib
        self._keep = keep
        self._measured: dict[str, deque[float]] = {}

    def learn(self, kind: str, pss_mib: float) -> None:
        """Note the proportional memory of one running world. Raises: ValueError for what is no amount."""
        if not pss_mib > 0:
            raise ValueError(f"{pss_mib} MiB is no amount of memory")
        self._measured.setdefault(kind, deque(maxlen=self._keep)).append(pss_mib)

    def of(self, kind: str) -> float:
        """Return MiB: the largest of a few, nine in ten of many, what is assumed of unknown ones before."""
        measured = self._measured.get(kind)
        if not measured:
            return self._unknown_mib
        if len(measured) < 10:
            return max(measured)
        return statistics.quantiles(measured, n=10)[-1]


class Guard:
    """Sets memory aside for creations in flight. Not thread-safe: one thread asks.

    Attributes:
        estimates: what worlds need. set_aside_mib: for those in flight, in all.
    """

    def __init__(self, rules: GuardRules) -> None:
        self.rules = rules
        self.estimates = Estimates(rules.unknown_mib)
        self._in_flight: dict[object, float] = {}

    @property
    def set_aside_mib(self) -> float:
        """What creations in flight are going to take."""
        return sum(self._in_flight.values())

    def ask(self, who: object, kind: str, how: Kind, reading: HostReading) -> Verdict:
        """Decide about one creation; an admitted one holds its estimate until ``done``.

        Args:
            who: whatever tells creations in flight apart. kind: of world, for its estimate.
        Raises: ValueError when ``who`` has a creation in flight already.
        """
        if who in self._in_flight:
            raise ValueError(f"{who!r} has a creation in flight already")
        need_mib = self.estimates.of(kind)
        if lacking := self._lacks_memory(need_mib, reading):
            return Verdict(False, lacking, self.rules.retry_after_s, "memory")
        # a host that others keep busy holds cold boots up, but for one at a time: so a pool gets on, however slowly
        if how == "boot" and self._in_flight and (busy := self._is_busy(reading)):
            return Verdict(False, busy, self.rules.retry_after_s, "processor")
        self._in_flight[who] = need_mib
        left_mib = reading.available_mib - self.set_aside_mib
        return Verdict(True, f"{need_mib:.0f} MiB set aside; {left_mib:.0f} MiB of {reading.limit} stay free")

    def done(self, who: object) -> None:
        """Give back what was set aside: the world is measured from now on, or gone. Unknown ones are passed over."""
        self._in_flight.pop(who, None)

    def floor_mib(self, reading: HostReading) -> float:
        """Return the memory that must stay free."""
        share_mib = self.rules.floor_share * reading.memory_mib
        return share_mib if reading.memory_mib < self.rules.big_host_mib else max(share_mib, self.rules.floor_mib)

    def _lacks_memory(self, need_mib: float, reading: HostReading) -> str:
        floor_mib = self.floor_mib(reading)
        left_mib = reading.available_mib - self.set_aside_mib - need_mib
        if left_mib >= floor_mib:
            return ""
        in_flight = f"{self.set_aside_mib:.0f} of them set aside for {len(self._in_flight)} creations in flight"
        return (
            f"{reading.limit} has {reading.available_mib:.0f} MiB available, {in_flight}; "
            f"one more takes {need_mib:.0f} and {floor_mib:.0f} must stay free"
        )

    def _is_busy(self, reading: HostReading) -> str:
        if reading.waiting is not None:
            if reading.waiting <= self.rules.waiting:
                return ""
            return (
                f"processes waited for a processor in {reading.waiting:.0%} of the last ten seconds, "
                f"more than {self.rules.waiting:.0%}; cold boots go one at a time"
            )
        bound = self.rules.load_per_core * reading.cores
        if reading.load <= bound:
            return ""
        over = f"the load is {reading.load:.1f}, over {bound:.1f} for {reading.cores:g} processors"
        return f"{over}; cold boots go one at a time"
