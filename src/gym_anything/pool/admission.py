"""The guard at work: asked for one creation at a time, with a reading that is fresh enough."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from gym_anything.pool.guard import Guard, HostReading, Kind, Verdict
from gym_anything.pool.observer import PoolObserver

_READING_S = 0.2

Answer = Callable[[Verdict], None]


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """What is asked for; see ``PoolRules``."""

    kind: str
    cold: bool
    at_once: int | None


class GuardedAdmission:
    """Decides, or puts off until one that is being created is done. Lives in one event loop.

    Attributes:
        last_refusal: in words; "" while there was none.
    """

    def __init__(
        self,
        guard: Guard,
        rules: AdmissionRules,
        read: Callable[[], HostReading],
        clock: Callable[[], float],
        observer: PoolObserver,
    ) -> None:
        """Args: read: looks at the host. clock: how old that is."""
        self.guard = guard
        self.last_refusal = ""
        self._rules, self._read, self._clock, self._observer = rules, read, clock, observer
        self._reading: HostReading | None = None
        self._read_at = 0.0
        self._creating: set[int] = set()
        self._waiting: OrderedDict[int, tuple[bool, Answer]] = OrderedDict()

    def ask(self, replica: int, *, recovery: bool, answer: Answer) -> None:
        """See ``Admission``."""
        if self._rules.at_once is not None and len(self._creating) >= self._rules.at_once:
            self._waiting[replica] = recovery, answer
            return
        verdict = self._decide(replica, recovery)
        if verdict.admitted:
            self._creating.add(replica)
        else:
            self.last_refusal = verdict.reason
        self._observer.admission(replica, verdict)
        answer(verdict)

    def done(self, replica: int) -> None:
        """See ``Admission``."""
        self.guard.done((self, replica))
        self._creating.discard(replica)
        self._waiting.pop(replica, None)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        if self._waiting and len(self._creating) < (self._rules.at_once or 0):
            replica, (recovery, answer) = self._waiting.popitem(last=False)
            self.ask(replica, recovery=recovery, answer=answer)

    def _decide(self, replica: int, recovery: bool) -> Verdict:
        now = self._clock()
        if self._reading is None or now - self._read_at > _READING_S:
            self._reading, self._read_at = self._read(), now
        how: Kind = "recovery" if recovery else "boot" if self._rules.cold else "fork"
        return self.guard.ask((self, replica), self._rules.kind, how, self._reading)
