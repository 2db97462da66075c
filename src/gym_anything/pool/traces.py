"""OpenTelemetry traces of a pool. Needs the extra ``otel``; without an SDK that somebody set up, spans go nowhere.

::

    task                    from a lease's beginning to its end
    ├─ reset, step, evaluate, …    each operation, with all its tries
    recovery                from the end of a world to the readiness of the next one in its place

Attributes: ``gym_anything.episode`` (the lease), ``gym_anything.replica``, ``gym_anything.reason``,
``gym_anything.generation``, ``error.type`` (an error's code). No argument or result of an operation is in a span.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gym_anything.errors import MissingExtra
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.replica_state import State, Transition

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider
    from opentelemetry.util.types import AnyValue

_NAME = "gym_anything"


class PoolTraces(PoolObserver):
    """Makes spans of what it is told."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        """Args: provider: instead of the process's own. Raises: MissingExtra."""
        try:
            from opentelemetry import trace
        except ImportError as error:
            fix = "pip install 'gym-anything[otel]'"
            raise MissingExtra(f"traces need their extra: {fix}", detail={"extra": "otel", "fix": fix}) from error
        self._trace = trace
        self._tracer = trace.get_tracer(_NAME, tracer_provider=provider)
        self._tasks: dict[str, Span] = {}
        self._recoveries: dict[int, Span] = {}

    def transition(self, replica: int, one: Transition) -> None:
        """See ``PoolObserver``."""
        if one.after is State.CLEARING and replica not in self._recoveries:
            ids: dict[str, AnyValue] = {"gym_anything.replica": replica, "gym_anything.reason": one.reason}
            self._recoveries[replica] = self._tracer.start_span("recovery", attributes=ids)
        elif one.after in (State.IDLE, State.RETIRED) and replica in self._recoveries:
            span = self._recoveries.pop(replica)
            span.set_attribute("gym_anything.generation", one.generation)
            if one.after is State.RETIRED:
                span.set_status(self._trace.StatusCode.ERROR, one.reason)
            span.end()

    def lent(self, lease: str, replica: int, waited_s: float) -> None:
        """See ``PoolObserver``."""
        ids: dict[str, AnyValue] = {
            "gym_anything.episode": lease,
            "gym_anything.replica": replica,
            "gym_anything.waited_s": waited_s,
        }
        self._tasks[lease] = self._tracer.start_span("task", attributes=ids)

    def returned(self, lease: str, reason: str) -> None:
        """See ``PoolObserver``."""
        span = self._tasks.pop(lease, None)
        if span is None:
            return
        span.set_attribute("gym_anything.reason", reason)
        if reason != "released":
            span.set_status(self._trace.StatusCode.ERROR, reason)
        span.end()

    @contextmanager
    def operation(self, lease: str, replica: int, operation: str) -> Iterator[None]:
        """See ``PoolObserver``."""
        task = self._tasks.get(lease)
        context = None if task is None else self._trace.set_span_in_context(task)
        ids: dict[str, AnyValue] = {"gym_anything.episode": lease, "gym_anything.replica": replica}
        span = self._tracer.start_span(operation, context, attributes=ids)
        try:
            yield
        except BaseException as error:
            span.set_attribute("error.type", getattr(error, "code", type(error).__name__))
            span.set_status(self._trace.StatusCode.ERROR, type(error).__name__)
            raise
        finally:
            span.end()

    def not_delivered(self, lease: str, operation: str) -> None:
        """See ``PoolObserver``."""
        task = self._tasks.get(lease)
        if task is not None:
            task.add_event("input not delivered", {"gym_anything.operation": operation})

    def tried_again(self, lease: str, operation: str, error: Exception) -> None:
        """See ``PoolObserver``."""
        task = self._tasks.get(lease)
        if task is not None:
            ids: dict[str, AnyValue] = {"gym_anything.operation": operation}
            task.add_event("tried again", ids | {"error.type": getattr(error, "code", type(error).__name__)})

    def close(self) -> None:
        """See ``PoolObserver``."""
        for lease in list(self._tasks):
            self.returned(lease, "the pool was stopped")
        for replica in list(self._recoveries):
            self._recoveries.pop(replica).end()
