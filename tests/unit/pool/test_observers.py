"""What a pool tells its observers becomes a stream, metrics, log lines, spans."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from gym_anything.errors import (
    Aborted,
    CaptureFailed,
    InputDeliveryUnknown,
    InputNotDelivered,
    ReplicaFailed,
    StateError,
    WorldLost,
)
from gym_anything.pool.guard import Guard, GuardRules, HostReading, Verdict
from gym_anything.pool.metrics import PoolMetrics
from gym_anything.pool.observer import Observers, PoolObserver
from gym_anything.pool.pool_log import PoolLog
from gym_anything.pool.replica_state import State, Transition
from gym_anything.pool.traces import PoolTraces
from gym_anything.pool.transition_stream import TransitionStream

pytestmark = pytest.mark.unit

S = State
LIFE = [S.COLD, S.QUEUED, S.CREATING, S.IDLE, S.ASSIGNED, S.CLEARING, S.BACKING_OFF, S.QUEUED, S.CREATING, S.IDLE]


def live(observer: PoolObserver, *states: State, replica: int = 1, lease: str | None = None) -> None:
    """Take a replica through these states."""
    for number, (before, after) in enumerate(itertools.pairwise(states)):
        observer.transition(replica, Transition(float(number), before, after, f"to {after.value}", 1, lease))


def test_the_stream_is_bounded_and_numbered_and_knows_the_last_of_each() -> None:
    stream = TransitionStream(keep=3, wall_clock=lambda: 1000.5)
    live(stream, S.COLD, S.QUEUED, S.CREATING, S.IDLE, lease="1.1")
    live(stream, S.COLD, S.QUEUED, replica=2)
    assert [(one.number, one.replica, one.after) for one in stream.since(0)] == [
        (2, 1, "creating"),
        (3, 1, "idle"),
        (4, 2, "queued"),
    ]
    assert [one.number for one in stream.since(3)] == [4] and stream.newest == 4
    last = stream.last_of(1)
    assert last is not None and last.to_dict() == {
        "number": 3, "at": 1000.5, "replica": 1, "before": "creating", "after": "idle", "reason": "to idle",
        "generation": 1, "lease": "1.1",
    }  # fmt: skip
    stream.memory(1, 42.0)
    stream.memory(9, 1.0)
    assert (stream.memory_mib_of(1), stream.memory_mib_of(9)) == (42.0, None)
    live(stream, S.IDLE, S.CLEARING)
    assert stream.memory_mib_of(1) is None
    live(stream, S.CLEARING, S.RETIRED)
    assert stream.last_of(1) is None and stream.since(0)[-1].after == "retired"


@pytest.fixture
def metrics() -> PoolMetrics:
    return PoolMetrics("p", "here", clock=itertools.count(10).__next__)


def value(metrics: PoolMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"gym_anything_{name}", labels)


def test_replicas_by_state_recoveries_and_creations_in_flight(metrics: PoolMetrics) -> None:
    live(metrics, *LIFE[:3])
    assert value(metrics, "creations_in_flight") == 1 and value(metrics, "replicas", state="creating") == 1
    live(metrics, *LIFE[2:])
    live(metrics, *LIFE[:4], replica=2)
    assert value(metrics, "creations_in_flight") == 0
    assert value(metrics, "replicas", state="idle") == 2 and value(metrics, "replicas", state="queued") == 0
    assert value(metrics, "recoveries_total") == 1 and value(metrics, "recovery_seconds_sum") == 1
    assert value(metrics, "worlds_cleared_total", state="assigned") == 1
    metrics.memory(1, 2.0)
    metrics.memory(2, 3.0)
    assert value(metrics, "memory_bytes") == 5 * 2**20
    live(metrics, S.IDLE, S.CLEARING, S.RETIRED, replica=2)
    assert value(metrics, "memory_bytes") == 2 * 2**20 and value(metrics, "recoveries_total") == 1
    assert sum(value(metrics, "replicas", state=one.value) or 0 for one in State) == 1
    assert value(metrics, "pool", pool="p", environment="here") == 1


def test_leases_check_outs_and_refusals(metrics: PoolMetrics) -> None:
    metrics.lent("1.1", 1, 0.002)
    metrics.lent("2.2", 2, 0.2)
    assert value(metrics, "leases") == 2 and value(metrics, "check_out_seconds_bucket", le="0.003") == 1
    metrics.returned("1.1", "released")
    metrics.returned("2.2", "its owner showed no sign of life")
    assert value(metrics, "leases") == 0
    assert (
        value(metrics, "leases_ended_total", how="released") == value(metrics, "leases_ended_total", how="taken") == 1
    )
    metrics.admission(1, Verdict(True, "fine"))
    guard = Guard(GuardRules(unknown_mib=50))
    poor, busy = HostReading(100, 20, 1, load=0), HostReading(1000, 900, 1, load=9)
    assert guard.ask(
        0, "k", "boot", HostReading(1000, 900, 1, load=0)
    ).admitted  # a busy host waits with the second one
    metrics.admission(1, guard.ask(1, "k", "fork", poor))
    metrics.admission(1, guard.ask(1, "k", "boot", busy))
    for reason in ("memory", "processor"):
        assert value(metrics, "guard_refusals_total", reason=reason) == 1


def lost(cause: Exception) -> ReplicaFailed:
    error = ReplicaFailed("it is gone")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("operation", "error", "unknown"),
    [
        ("step", InputDeliveryUnknown("?"), 1),
        ("step", lost(WorldLost("gone")), 1),
        ("step", lost(Aborted("hung")), 1),
        ("step", lost(InputNotDelivered("refused")), 0),
        ("step", ReplicaFailed("before it began"), 0),
        ("evaluate", lost(WorldLost("gone")), 0),
        ("step", StateError("a mistake"), 0),
    ],
)
def test_an_input_nobody_knows_of_is_counted(
    metrics: PoolMetrics, operation: str, error: Exception, unknown: int
) -> None:
    with pytest.raises(type(error)), metrics.operation("1.1", 1, operation):
        raise error
    assert value(metrics, "unknown_deliveries_total") == unknown
    assert value(metrics, "operations_failed_total", operation=operation, code=error.code) == 1  # type: ignore[attr-defined]
    assert value(metrics, "operation_seconds_count", operation=operation) == 1


def test_only_further_tries_are_retries(metrics: PoolMetrics) -> None:
    with metrics.operation("1.1", 1, "step"):
        metrics.not_delivered("1.1", "step")
        metrics.not_delivered("1.1", "step")
    assert value(metrics, "retries_total", operation="step") == 2
    with pytest.raises(InputNotDelivered), metrics.operation("1.1", 1, "step"):
        metrics.not_delivered("1.1", "step")
        raise InputNotDelivered("at last")
    assert value(metrics, "retries_total", operation="step") == 2
    with pytest.raises(CaptureFailed), metrics.operation("1.1", 1, "observe"):
        metrics.tried_again("1.1", "observe", CaptureFailed("torn"))
        raise CaptureFailed("torn again")
    assert value(metrics, "retries_total", operation="observe") == 1


def test_the_registry_holds_nothing_of_others(metrics: PoolMetrics) -> None:
    text = metrics.render().decode()
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names and all(name.startswith("gym_anything_") for name in names)


def test_log_lines_have_ids_and_a_refusal_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    log = PoolLog()
    with caplog.at_level(logging.INFO, "gym_anything.pool"):
        log.lent("1.7", 1, 0.5)
        live(log, S.ASSIGNED, S.CLEARING)
        log.admission(1, Verdict(False, "no memory", 1.0, "memory"))
        log.admission(1, Verdict(False, "still no memory", 1.0, "memory"))
        with pytest.raises(WorldLost), log.operation("1.7", 1, "step"):
            raise WorldLost("gone")
        assert log.episode_of(1) == "1.7"
        log.returned("1.7", "taken away")
    assert log.episode_of(1) is None
    said: list[Any] = [(one.levelname, one.message, one.replica, one.episode) for one in caplog.records]  # type: ignore[attr-defined]
    assert said == [
        ("INFO", "lent", 1, "1.7"),
        ("WARNING", "assigned -> clearing: to clearing", 1, "1.7"),
        ("WARNING", "creation refused: no memory", 1, "1.7"),
        ("WARNING", "step failed: gone", 1, "1.7"),
        ("WARNING", "lease over: taken away", 1, "1.7"),
    ]


@pytest.fixture
def traced() -> tuple[PoolTraces, Callable[[], dict[str, Any]]]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return PoolTraces(provider), lambda: {span.name: span for span in exporter.get_finished_spans()}


def test_operations_are_spans_of_their_task(traced: tuple[PoolTraces, Callable[[], dict[str, Any]]]) -> None:
    traces, finished = traced
    traces.lent("1.1", 1, 0.25)
    with traces.operation("1.1", 1, "reset"):
        pass
    with pytest.raises(WorldLost), traces.operation("1.1", 1, "step"):
        traces.not_delivered("1.1", "step")
        traces.tried_again("1.1", "observe", WorldLost("with a secret in it"))
        raise WorldLost("with a secret in it")
    traces.returned("1.1", "released")
    traces.returned("1.1", "released")
    spans = finished()
    task, step = spans["task"], spans["step"]
    assert set(spans) == {"task", "reset", "step"} and step.parent.span_id == task.context.span_id
    assert step.attributes["error.type"] == "world-lost" and step.status.status_code is StatusCode.ERROR
    assert step.attributes["gym_anything.episode"] == "1.1" and "secret" not in str(step.to_json())
    assert [event.name for event in task.events] == ["input not delivered", "tried again"]
    assert "secret" not in str(task.to_json())


def test_a_recovery_is_one_span_and_nothing_stays_open(
    traced: tuple[PoolTraces, Callable[[], dict[str, Any]]],
) -> None:
    traces, finished = traced
    live(traces, *LIFE)
    recovery = finished()["recovery"]
    assert (
        recovery.attributes["gym_anything.reason"] == "to clearing" and recovery.attributes["gym_anything.replica"] == 1
    )
    traces.lent("2.1", 2, 0.0)
    traces.close()
    assert finished()["task"].status.status_code is StatusCode.ERROR


def test_several_observers_are_told_all() -> None:
    class Noting(PoolObserver):
        def __init__(self) -> None:
            self.said: list[str] = []

        def returned(self, lease: str, reason: str) -> None:
            self.said.append(reason)

        def tried_again(self, lease: str, operation: str, error: Exception) -> None:
            self.said.append(f"{operation} again")

        def close(self) -> None:
            self.said.append("close")

    first, second = Noting(), Noting()
    both = Observers([first, second, PoolTraces()])  # without an SDK: spans that go nowhere
    both.lent("1.1", 1, 0.0)
    with both.operation("1.1", 1, "step"):
        both.not_delivered("1.1", "step")
        both.tried_again("1.1", "observe", WorldLost("gone"))
    live(both, *LIFE)
    both.memory(1, 5.0)
    both.admission(1, Verdict(True, "fine"))
    both.returned("1.1", "released")
    both.close()
    assert first.said == second.said == ["observe again", "released", "close"]
