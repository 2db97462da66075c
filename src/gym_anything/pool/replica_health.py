"""Whether a world is well: answers its probes, does not get slower and slower, does not grow and grow. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthRules:
    """When a world is no longer well.

    Attributes:
        probe_every_s: how often it is asked for a sign of life.
        probe_limit_s: how long an answer may take before the probe counts as missed.
        missed_limit: so many probes missed in a row mean that it hangs.
        slow_factor, slow_least_s: answers that take, on average, so many times what they took at first, and at least so
            long, mean that it drifts. The product is of use below ``probe_limit_s``: what is slower is missed.
        growth_factor: memory of so many times what it was at first means that it drifts.
        settle_count: from how many answers "at first" is learnt.
    """

    probe_every_s: float = 5.0
    probe_limit_s: float = 2.0
    missed_limit: int = 3
    slow_factor: float = 5.0
    slow_least_s: float = 0.3
    growth_factor: float = 4.0
    settle_count: int = 5


_TICK_S = 1e-6  # a clock's rounding
_WEIGHT = 0.2  # of the newest answer in the running mean: about the last ten count
_MOST = 2.0  # times the bound, an answer counts: one that was held up says little, four in a row are a drift


class Health:
    """The health of one world, from the moment it is up, or reset: then it is another world, or as good as one.

    Attributes:
        due: when it is to be asked next, seconds on the clock of the events.
    """

    def __init__(self, rules: HealthRules, at: float) -> None:
        self.rules = rules
        self.due = at + rules.probe_every_s
        self._since = at
        self._missed = 0
        self._asked = self._asked_deep = self._doubted = False
        self._first: list[float] = []
        self._mean_s = 0.0
        self._memory_mib: float | None = None

    @property
    def suspicious(self) -> bool:
        """True when the last probe was missed, or since a doubt: the next should ask more than the cheap question."""
        return self._missed > 0 or self._doubted

    def doubt(self) -> None:
        """Note that something went wrong with it, until it answers the question that asks more."""
        self._doubted = True

    def wants_probe(self, at: float) -> bool:
        """Tell whether to ask now; then the next time is set. While an answer is awaited nothing more is asked."""
        if at < self.due:
            return False
        self.due = at + self.rules.probe_every_s
        asks, self._asked = not self._asked, True
        self._asked_deep = self.suspicious if asks else self._asked_deep
        return asks

    def answered(self, at: float, took_s: float, memory_mib: float | None) -> str:
        """Note an answer; return how the world drifts, or "" when it does not."""
        self._missed, self._asked = 0, False
        self._doubted = self._doubted and not self._asked_deep
        self.due = at + self.rules.probe_every_s
        if took_s > at - self._since + _TICK_S:
            return ""  # it was asked before the reset: its answer is no measure of what came after
        if len(self._first) < self.rules.settle_count:
            self._first.append(took_s)
            self._mean_s = sum(self._first) / len(self._first)
        else:
            self._note(took_s)
        return self._slower() or self._grown(memory_mib)

    def missed(self, at: float) -> bool:
        """Note a missed probe; True when the world hangs."""
        self._missed, self._asked = self._missed + 1, False
        if len(self._first) == self.rules.settle_count:
            self._note(float("inf"))
        self.due = at + self.rules.probe_every_s
        return self._missed >= self.rules.missed_limit

    def _slower(self) -> str:
        if len(self._first) < self.rules.settle_count or self._mean_s <= self._bound_s():
            return ""
        return f"it answers after more than {self._bound_s():.2f} s on average, at first after {self._first_s():.2f} s"

    def _note(self, took_s: float) -> None:
        self._mean_s += _WEIGHT * (min(took_s, _MOST * self._bound_s()) - self._mean_s)

    def _bound_s(self) -> float:
        return max(self.rules.slow_least_s, self.rules.slow_factor * self._first_s())

    def _first_s(self) -> float:
        return sum(self._first) / len(self._first)

    def _grown(self, memory_mib: float | None) -> str:
        if memory_mib is None:
            return ""
        if self._memory_mib is None:
            self._memory_mib = memory_mib
        if memory_mib <= self.rules.growth_factor * self._memory_mib:
            return ""
        return f"it uses {memory_mib:.0f} MiB, at first {self._memory_mib:.0f}"
