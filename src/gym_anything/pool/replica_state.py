"""The state manager of one replica, as a pure machine: events in, instructions out.

::

    COLD --wanted--> QUEUED --admitted--> CREATING --created--> IDLE <--reset done-- RESETTING
                       ^                     |                   |                      ^
                       |                   failed             assigned               released
                       |                     v                   v                      |
                    BACKING_OFF <-------- CLEARING <--lost-- ASSIGNED ------------------+
                                             |
                                             +--retired, or failed too often--> RETIRED

Whatever goes wrong with a world ends in CLEARING: it is destroyed before anything else happens, so that one replica
never has two worlds. It knows of no other replica and shares nothing with one. Each transition is kept with its reason
(``story``).

Source: the OSGym paper's decentralised state managers; parameters as scale.md has them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gym_anything.pool import replica_events as ev
from gym_anything.pool.replica_health import Health, HealthRules


class State(Enum):
    """Where a replica stands."""

    COLD = "cold"
    QUEUED = "queued"
    CREATING = "creating"
    IDLE = "idle"
    ASSIGNED = "assigned"
    RESETTING = "resetting"
    CLEARING = "clearing"
    BACKING_OFF = "backing off"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class ReplicaRules:
    """How patient a state manager is.

    Attributes:
        create_limit_s, reset_limit_s, clear_limit_s: how long each may take before it counts as failed.
        lease_s: how long an owner may show no sign of life.
        back_off_s, back_off_max_s: the first pause after a failure, doubled with each further one before a task was
            done and the world reset, and the longest.
        crash_limit, crash_window_s: so many failures within so long retire the replica, whatever went well meanwhile.
        story_length: how many transitions are kept.
        health: when a world counts as hanging or drifting.
    """

    create_limit_s: float = 120.0
    reset_limit_s: float = 60.0
    clear_limit_s: float = 30.0
    lease_s: float = 60.0
    back_off_s: float = 0.5
    back_off_max_s: float = 60.0
    crash_limit: int = 5
    crash_window_s: float = 600.0
    story_length: int = 64
    health: HealthRules = field(default_factory=HealthRules)


@dataclass(frozen=True, slots=True)
class Transition:
    """One line of a replica's story."""

    at: float
    before: State
    after: State
    reason: str
    generation: int
    lease: str | None = None


class ReplicaState:
    """One replica. Not thread-safe: one thread feeds it.

    Attributes:
        state: where it stands. generation: counts its worlds from 1. lease: of the task it is assigned to.
        story: its last transitions, oldest first.
    """

    def __init__(self, rules: ReplicaRules) -> None:
        self.rules = rules
        self.state = State.COLD
        self.generation = 0
        self.lease: str | None = None
        self.story: deque[Transition] = deque(maxlen=rules.story_length)
        self._health = Health(rules.health, 0.0)
        self._at = 0.0
        self._due: float | None = None
        self._lease_due = self._task_due = float("inf")
        self._failures: deque[float] = deque(maxlen=rules.crash_limit)
        self._in_a_row = 0  # of them, those since a world was last reset after its task
        self._pausing = False  # after a failure
        self._admission = False
        self._retiring = ""
        self._out: list[ev.Instruction] = []

    @property
    def holds_admission(self) -> bool:
        """True while resources are set aside for a creation of this replica."""
        return self._admission

    def due(self) -> float | None:
        """When to send the next ``Tick`` at the latest; None when nothing depends on time."""
        dues = [self._due, self._health.due if self._has_world() else None]
        if self.state is State.ASSIGNED:
            dues += [self._lease_due, self._task_due]
        known = [due for due in dues if due is not None and due != float("inf")]
        return min(known, default=None)

    def handle(self, event: ev.Event) -> list[ev.Instruction]:
        """Take one event in and return what must be done now, in this order.

        Raises: ValueError for an event that lies before the last one, or one that its sender cannot have meant in this
            state (``Assigned`` to a replica that is not idle, ``Admitted`` nobody asked for).
        """
        if event.at < self._at:
            raise ValueError(f"an event of {event.at} after one of {self._at}")
        self._at = event.at
        self._out = []
        if not isinstance(event, ev.OfWorld) or event.generation == self.generation:
            _HANDLERS[type(event)](self, event)
        return self._out

    # --- wishes of the pool --------------------------------------------------------------------------------------

    def _wanted(self, event: ev.Wanted) -> None:
        if self.state is State.COLD:
            self._queue("the pool wants it")

    def _retire(self, event: ev.Retire) -> None:
        if self.state is State.RETIRED or self._retiring:
            return
        self._retiring = event.reason
        if self.state in (State.COLD, State.QUEUED, State.BACKING_OFF):
            self._go(State.RETIRED, event.reason)
        elif self.state is State.IDLE:
            self._clear(event.reason)

    def _assigned(self, event: ev.Assigned) -> None:
        if self.state is not State.IDLE:
            raise ValueError(f"assigned to {event.lease} while {self.state.value}")
        self.lease = event.lease
        self._lease_due = self._at + self.rules.lease_s
        self._task_due = self._at + (float("inf") if event.task_limit_s is None else event.task_limit_s)
        self._go(State.ASSIGNED, "a task was given to it")

    def _heartbeat(self, event: ev.Heartbeat) -> None:
        if event.lease == self.lease:
            self._lease_due = self._at + self.rules.lease_s

    def _released(self, event: ev.Released) -> None:
        if event.lease != self.lease:
            return  # told to end before, or never ours
        self.lease = None
        if event.broken:
            self._fail("its task found it broken")
        elif self._retiring:
            self._clear(self._retiring)
        else:
            self._reset("its task is over")

    # --- coming up -----------------------------------------------------------------------------------------------

    def _admitted(self, event: ev.Admitted) -> None:
        if self.state is State.RETIRED:  # retired while it waited
            self._out.append(ev.GiveAdmissionBack())
            return
        if self.state is not State.QUEUED or self._admission:
            raise ValueError(f"admitted while {self.state.value}")
        self._admission = True
        self.generation += 1
        self._go(State.CREATING, "admitted", due_in=self.rules.create_limit_s)
        self._out.append(ev.Create(self.generation))

    def _refused(self, event: ev.Refused) -> None:
        if self.state is State.QUEUED:
            self._go(State.BACKING_OFF, f"refused: {event.reason}", due_in=event.retry_after_s)

    def _created(self, event: ev.Created) -> None:
        if self.state is not State.CREATING:
            return
        self._give_admission_back()
        self._health = Health(self.rules.health, self._at)
        self._rest("created")

    def _create_failed(self, event: ev.CreateFailed) -> None:
        if self.state is State.CREATING:
            self._fail(f"not created: {event.reason}")

    def _reset_done(self, event: ev.ResetDone) -> None:
        if self.state is State.RESETTING:
            self._in_a_row = 0
            self._health = Health(self.rules.health, self._at)
            self._rest("reset")

    def _reset_failed(self, event: ev.ResetFailed) -> None:
        if self.state is State.RESETTING:
            self._fail(f"not reset: {event.reason}")

    # --- health --------------------------------------------------------------------------------------------------

    def _lost(self, event: ev.Lost) -> None:
        if self.state is State.CREATING or self._has_world():
            self._fail(f"lost: {event.reason}")

    def _probe_answered(self, event: ev.ProbeAnswered) -> None:
        if not self._has_world():
            return
        drift = self._health.answered(self._at, event.took_s, event.memory_mib)
        if drift and self.state is State.IDLE:  # a task is not taken its world for this, and a reset brings a new one
            self._fail(f"drifting: {drift}")

    def _probe_missed(self, event: ev.ProbeMissed) -> None:
        if self._has_world() and self._health.missed(self._at):
            self._fail(f"hangs: {event.reason}")

    def _world_doubted(self, event: ev.Doubted) -> None:
        self._health.doubt()

    def _destroyed(self, event: ev.Destroyed) -> None:
        if self.state is not State.CLEARING:
            return
        self._give_admission_back()
        self._after_clearing("nothing is left of it")

    def _tick(self, event: ev.Tick) -> None:
        if self.state is State.ASSIGNED and self._at >= min(self._lease_due, self._task_due):
            silent = self._lease_due <= self._task_due
            if silent:
                self._end_lease("its owner showed no sign of life", "silent")
            else:
                self._end_lease("it is over its time limit", "limit")
            if event.busy:  # a reset would wait for what is being done; what aborts that is the world's end, no failure
                self._clear("reclaimed in the middle of an operation")
            else:
                self._reset("reclaimed")
        if self._due is not None and self._at >= self._due:
            self._due = None
            self._overdue()
        if self._has_world() and self._health.wants_probe(self._at):
            self._out.append(ev.Probe(self.generation, deep=self._health.suspicious))

    def _overdue(self) -> None:
        if self.state is State.BACKING_OFF:
            self._queue("it has waited long enough")
        elif self.state is State.CREATING:
            self._fail(f"not created within {self.rules.create_limit_s:g} s")
        elif self.state is State.RESETTING:
            self._fail(f"not reset within {self.rules.reset_limit_s:g} s")
        elif self.state is State.CLEARING:  # what is left of it must be found from outside: nothing is put beside it
            self._retiring = f"not removed within {self.rules.clear_limit_s:g} s"
            self._give_admission_back()
            self._after_clearing(self._retiring)

    # --- transitions ---------------------------------------------------------------------------------------------

    def _has_world(self) -> bool:
        return self.state in (State.IDLE, State.ASSIGNED, State.RESETTING)

    def _queue(self, reason: str) -> None:
        self._go(State.QUEUED, reason)
        self._out.append(ev.AskAdmission())

    def _rest(self, reason: str) -> None:
        if self._retiring:
            self._clear(self._retiring)
        else:
            self._go(State.IDLE, reason)

    def _reset(self, reason: str) -> None:
        self._go(State.RESETTING, reason, due_in=self.rules.reset_limit_s)
        self._out.append(ev.Reset(self.generation))

    def _fail(self, reason: str) -> None:
        """Count a failure and clear the world away; a replica that fails too often is retired."""
        self._failures.append(self._at)
        while self._at - self._failures[0] > self.rules.crash_window_s:
            self._failures.popleft()
        self._in_a_row = min(self._in_a_row + 1, len(self._failures))
        if len(self._failures) == self.rules.crash_limit:
            self._retiring = self._retiring or f"failed {self.rules.crash_limit} times, the last time: {reason}"
        self._pausing = True
        self._clear(reason)

    def _clear(self, reason: str) -> None:
        if self.lease is not None:
            self._end_lease(reason)
        self._go(State.CLEARING, reason, due_in=self.rules.clear_limit_s)
        self._out.append(ev.Destroy(self.generation))

    def _after_clearing(self, reason: str) -> None:
        if self._retiring:
            self._go(State.RETIRED, self._retiring)
        elif self._pausing:
            self._pausing = False
            pause = self.rules.back_off_s * 2.0 ** min(self._in_a_row - 1, 60)
            self._go(State.BACKING_OFF, reason, due_in=min(pause, self.rules.back_off_max_s))
        else:
            self._queue(reason)

    def _end_lease(self, reason: str, cause: ev.Cause = "world") -> None:
        assert self.lease is not None
        self._out.append(ev.EndLease(self.lease, reason, cause))
        self.lease = None

    def _give_admission_back(self) -> None:
        if self._admission:
            self._admission = False
            self._out.append(ev.GiveAdmissionBack())

    def _go(self, state: State, reason: str, *, due_in: float | None = None) -> None:
        self.story.append(Transition(self._at, self.state, state, reason, self.generation, self.lease))
        self.state = state
        self._due = None if due_in is None else self._at + due_in


_HANDLERS: dict[type[ev.Event], Callable[[ReplicaState, Any], None]] = {
    ev.Wanted: ReplicaState._wanted,
    ev.Retire: ReplicaState._retire,
    ev.Assigned: ReplicaState._assigned,
    ev.Heartbeat: ReplicaState._heartbeat,
    ev.Released: ReplicaState._released,
    ev.Admitted: ReplicaState._admitted,
    ev.Refused: ReplicaState._refused,
    ev.Created: ReplicaState._created,
    ev.CreateFailed: ReplicaState._create_failed,
    ev.ResetDone: ReplicaState._reset_done,
    ev.ResetFailed: ReplicaState._reset_failed,
    ev.Lost: ReplicaState._lost,
    ev.ProbeAnswered: ReplicaState._probe_answered,
    ev.ProbeMissed: ReplicaState._probe_missed,
    ev.Doubted: ReplicaState._world_doubted,
    ev.Destroyed: ReplicaState._destroyed,
    ev.Tick: ReplicaState._tick,
}
