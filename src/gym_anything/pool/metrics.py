"""A pool's metrics for Prometheus, in a registry of their own. Needs the extra ``metrics``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gym_anything.errors import (
    Aborted,
    InputDeliveryUnknown,
    InputNotDelivered,
    MissingExtra,
    ReplicaFailed,
    WorldLost,
)
from gym_anything.pool.guard import Verdict
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.replica_state import State, Transition

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_MIB = 1 << 20
_QUICK_S = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_SLOW_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class PoolMetrics(PoolObserver):
    """Counts what it is told.

    Attributes:
        registry: what a scrape collects; nothing of the process or of Python is in it.
    """

    def __init__(self, pool: str, environment: str, clock: Callable[[], float] = time.perf_counter) -> None:
        """Args: pool, environment: what the pool is called, and of what it is. Raises: MissingExtra."""
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError as error:
            fix = "pip install 'gym-anything[metrics]'"
            raise MissingExtra(f"metrics need their extra: {fix}", detail={"extra": "metrics", "fix": fix}) from error
        self.registry: CollectorRegistry = CollectorRegistry()
        self._clock = clock
        given: dict[str, Any] = {"namespace": "gym_anything", "registry": self.registry}
        Gauge("pool", "The pool that these are of; always 1.", ["pool", "environment"], **given).labels(
            pool, environment
        ).set(1)
        self._replicas = Gauge("replicas", "Replicas by state.", ["state"], **given)
        self._leases = Gauge("leases", "Leases that are not over.", **given)
        self._ended = Counter(
            "leases_ended", "Leases that are over; taken: not given back by owners.", ["how"], **given
        )
        self._waited = Histogram(
            "check_out_seconds", "From asking for a replica to having it.", buckets=_QUICK_S, **given
        )
        self._took = Histogram(
            "operation_seconds", "Operations of tasks, all tries.", ["operation"], buckets=_QUICK_S, **given
        )
        self._failed = Counter("operations_failed", "Operations that raised.", ["operation", "code"], **given)
        self._retries = Counter(
            "retries", "Further tries of what was surely not applied, and of reads.", ["operation"], **given
        )
        self._unknown = Counter("unknown_deliveries", "Inputs that may or may not have been applied.", **given)
        self._in_flight = Gauge("creations_in_flight", "Worlds that are being made.", **given)
        self._refused = Counter("guard_refusals", "Creations refused, by what was short.", ["reason"], **given)
        self._lost = Counter("worlds_cleared", "Worlds destroyed, by what their replica did.", ["state"], **given)
        self._recoveries = Counter("recoveries", "Worlds made in the place of one before.", **given)
        self._recovery = Histogram(
            "recovery_seconds", "From a world's end to the next one's readiness.", buckets=_SLOW_S, **given
        )
        self._memory = Gauge("memory_bytes", "Proportional memory of all worlds, as last measured.", **given)
        self._states: dict[int, State] = {}
        self._memory_mib: dict[int, float] = {}
        self._cleared_at: dict[int, float] = {}
        self._not_delivered: dict[str, int] = {}
        for state in State:
            if state is not State.RETIRED:  # a retired replica is not one any more
                self._replicas.labels(state.value).set(0)

    def transition(self, replica: int, one: Transition) -> None:
        """See ``PoolObserver``."""
        if replica in self._states:
            self._replicas.labels(self._states.pop(replica).value).dec()
        if one.after is not State.RETIRED:
            self._states[replica] = one.after
            self._replicas.labels(one.after.value).inc()
        if one.before is State.CREATING:
            self._in_flight.dec()
        if one.after is State.CREATING:
            self._in_flight.inc()
        elif one.after is State.CLEARING:
            self._lost.labels(one.before.value).inc()
            self._cleared_at.setdefault(replica, self._clock())
        elif one.after is State.IDLE and replica in self._cleared_at:
            self._recoveries.inc()
            self._recovery.observe(self._clock() - self._cleared_at.pop(replica))
        if one.after is State.RETIRED:
            self._cleared_at.pop(replica, None)
        if one.after in (State.CLEARING, State.RETIRED):
            self._forget_memory(replica)

    def admission(self, replica: int, verdict: Verdict) -> None:
        """See ``PoolObserver``."""
        if not verdict.admitted:
            self._refused.labels(verdict.short_of).inc()

    def memory(self, replica: int, memory_mib: float) -> None:
        """See ``PoolObserver``."""
        if replica in self._states:
            self._memory_mib[replica] = memory_mib
            self._memory.set(sum(self._memory_mib.values()) * _MIB)

    def lent(self, lease: str, replica: int, waited_s: float) -> None:
        """See ``PoolObserver``."""
        self._leases.inc()
        self._waited.observe(waited_s)

    def returned(self, lease: str, reason: str) -> None:
        """See ``PoolObserver``."""
        self._leases.dec()
        self._ended.labels("released" if reason == "released" else "taken").inc()
        self._not_delivered.pop(lease, None)

    @contextmanager
    def operation(self, lease: str, replica: int, operation: str) -> Iterator[None]:
        """See ``PoolObserver``."""
        began = self._clock()
        failure: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            self._took.labels(operation).observe(self._clock() - began)
            self._count_tries(lease, operation, failure)

    def not_delivered(self, lease: str, operation: str) -> None:
        """See ``PoolObserver``."""
        self._not_delivered[lease] = self._not_delivered.get(lease, 0) + 1

    def tried_again(self, lease: str, operation: str, error: Exception) -> None:
        """See ``PoolObserver``."""
        self._retries.labels(operation).inc()

    def _count_tries(self, lease: str, operation: str, failure: BaseException | None) -> None:
        again = self._not_delivered.pop(lease, 0) - isinstance(failure, InputNotDelivered)
        if again > 0:
            self._retries.labels(operation).inc(again)
        if failure is not None:
            self._failed.labels(operation, getattr(failure, "code", type(failure).__name__)).inc()
        if _is_unknown(operation, failure):
            self._unknown.inc()

    def _forget_memory(self, replica: int) -> None:
        if self._memory_mib.pop(replica, None) is not None:
            self._memory.set(sum(self._memory_mib.values()) * _MIB)

    def render(self) -> bytes:
        """Return what a scrape gets, in the text format. Any thread."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


def _is_unknown(operation: str, failure: BaseException | None) -> bool:
    """Tell whether nobody knows what became of an input: also when its world was lost or given up meanwhile."""
    root = failure.__cause__ if isinstance(failure, ReplicaFailed) else failure
    if isinstance(root, InputDeliveryUnknown):
        return True
    return operation == "step" and isinstance(root, WorldLost | Aborted)
