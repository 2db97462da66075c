"""The state manager under any order of events: what must hold always."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gym_anything.pool import replica_events as ev
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules, ReplicaState, State

pytestmark = pytest.mark.unit

COUNT, HEADROOM = 4, 2
RULES = ReplicaRules(health=HealthRules(probe_every_s=5), crash_limit=4, crash_window_s=200)
which = st.integers(0, COUNT - 1)


class Pool(RuleBasedStateMachine):
    """A few replicas, a guard with room for two creations, and a world outside that keeps no order at all."""

    @initialize()
    def begin(self) -> None:
        self.now = 0.0
        self.replicas = [ReplicaState(RULES) for _ in range(COUNT)]
        self.worlds: list[set[int]] = [set() for _ in range(COUNT)]
        self.asked: list[int] = []
        self.set_aside = 0
        self.leases: dict[str, int] = {}
        self.ended: set[str] = set()
        self.tasks = 0
        self.limited: set[str] = set()
        self.words: dict[str, str] = {}

    def tell(self, number: int, event: ev.Event) -> None:
        """Give an event to a replica and do what it wants, like the shell around it."""
        replica = self.replicas[number]
        before = len(replica.story), replica.state
        for wish in replica.handle(event):
            if isinstance(wish, ev.AskAdmission):
                self.asked.append(number)
            elif isinstance(wish, ev.GiveAdmissionBack):
                self.set_aside -= 1
            elif isinstance(wish, ev.Create):
                assert not self.worlds[number], "two worlds in one replica"
                self.worlds[number].add(wish.generation)
            elif isinstance(wish, ev.EndLease):
                assert self.leases.pop(wish.lease) == number and wish.reason
                self.ended.add(wish.lease)
                self.words[wish.lease] = wish.reason
                assert wish.cause != "limit" or wish.lease in self.limited
        if replica.state is not before[1]:
            assert len(replica.story) > before[0] or len(replica.story) == RULES.story_length
            assert replica.story[-1].after is replica.state and replica.story[-1].reason

    @rule(numbers=st.lists(which, min_size=1, max_size=8))
    def go_well(self, numbers: list[int]) -> None:
        """What should happen next does: else deep states are hardly ever reached."""
        for number in numbers:
            replica = self.replicas[number]
            if replica.state is State.COLD:
                self.tell(number, ev.Wanted(self.now))
            elif replica.state is State.QUEUED and number in self.asked:
                self.asked.remove(number)
                self.answer(number)
            elif replica.state is State.CREATING:
                self.tell(number, ev.Created(self.now, replica.generation))
            elif replica.state is State.RESETTING:
                self.tell(number, ev.ResetDone(self.now, replica.generation))
            elif replica.state is State.IDLE:
                self.assign(number, None)
            elif replica.state is State.CLEARING:
                self.destroyed(number)

    @rule(number=which)
    def want(self, number: int) -> None:
        self.tell(number, ev.Wanted(self.now))

    @precondition(lambda self: self.asked)
    @rule()
    def admit(self) -> None:
        self.answer(self.asked.pop(0))

    def answer(self, number: int) -> None:
        """The guard's word."""
        if self.set_aside < HEADROOM:
            self.set_aside += 1
            self.tell(number, ev.Admitted(self.now))
        else:
            self.tell(number, ev.Refused(self.now, "no headroom", 2.0))

    @rule(
        number=which,
        late=st.integers(0, 2),
        kind=st.sampled_from(["up", "down", "lost", "reset", "unreset", "miss", "doubt", "slow"]),
    )
    def world_says(self, number: int, late: int, kind: str) -> None:
        generation = max(1, self.replicas[number].generation - late)
        self.tell(
            number,
            {
                "up": ev.Created(self.now, generation),
                "down": ev.CreateFailed(self.now, generation, "it would not"),
                "lost": ev.Lost(self.now, generation, "it went"),
                "reset": ev.ResetDone(self.now, generation),
                "unreset": ev.ResetFailed(self.now, generation, "it would not"),
                "miss": ev.ProbeMissed(self.now, generation, "silence"),
                "doubt": ev.Doubted(self.now, generation),
                "slow": ev.ProbeAnswered(self.now, generation, 2.0, 50.0),
            }[kind],
        )

    @rule(number=which)
    def destroyed(self, number: int) -> None:
        replica = self.replicas[number]
        if replica.state is State.CLEARING:
            self.worlds[number].discard(replica.generation)
            self.tell(number, ev.Destroyed(self.now, replica.generation))

    @rule(number=which, late=st.integers(1, 3))
    def destroyed_long_ago(self, number: int, late: int) -> None:
        """What an earlier world still says of its end is not the end of this one."""
        replica = self.replicas[number]
        before = replica.state, replica.holds_admission, len(replica.story)
        self.tell(number, ev.Destroyed(self.now, replica.generation - late))
        assert (replica.state, replica.holds_admission, len(replica.story)) == before

    @rule(number=which, stale=st.booleans())
    def beat(self, number: int, stale: bool) -> None:
        """Its owner keeps the lease; who had one before keeps nothing."""
        replica = self.replicas[number]
        due, lease = replica.due(), replica.lease
        others = sorted(self.ended) or ["nobody's"]
        self.tell(number, ev.Heartbeat(self.now, others[-1] if stale or lease is None else lease))
        if stale or lease is None:
            assert replica.due() == due
        self.tell(number, ev.Tick(self.now))
        assert stale or replica.lease == lease or self.over(number, lease)

    def over(self, number: int, lease: str | None) -> bool:
        """Tell whether that ended because the task's own time was up."""
        return lease in self.limited and "its time limit" in self.words.get(lease or "", "")

    @rule(number=which, limit=st.none() | st.floats(1, 100))
    def assign(self, number: int, limit: float | None) -> None:
        if self.replicas[number].state is State.IDLE:
            self.tasks += 1
            lease = f"task {self.tasks}"
            self.leases[lease] = number
            if limit is not None:
                self.limited.add(lease)
            self.tell(number, ev.Assigned(self.now, lease, limit))

    @rule(number=which, broken=st.booleans())
    def release(self, number: int, broken: bool) -> None:
        for lease, of in list(self.leases.items()):
            if of == number:
                del self.leases[lease]
                self.ended.add(lease)
                self.tell(number, ev.Released(self.now, lease, broken))

    @rule(seconds=st.floats(0, 70), busy=st.booleans())
    def time_passes(self, seconds: float, busy: bool = False) -> None:
        self.now += seconds
        for number in range(COUNT):
            self.tell(number, ev.Tick(self.now, busy=busy))

    @rule(number=which)
    def retire(self, number: int) -> None:
        self.tell(number, ev.Retire(self.now, "drained"))

    @invariant()
    def no_two_tasks_and_no_lease_without_its_replica(self) -> None:
        held = [replica.lease for replica in self.replicas if replica.lease]
        assert sorted(held) == sorted(self.leases)
        assert all((replica.lease is not None) == (replica.state is State.ASSIGNED) for replica in self.replicas)

    @invariant()
    def creations_in_flight_keep_within_the_headroom(self) -> None:
        assert self.set_aside == sum(replica.holds_admission for replica in self.replicas) <= HEADROOM

    @invariant()
    def whoever_waits_for_time_says_so(self) -> None:
        waiting = (State.CREATING, State.ASSIGNED, State.RESETTING, State.CLEARING, State.BACKING_OFF, State.IDLE)
        assert all(replica.due() is not None for replica in self.replicas if replica.state in waiting)

    def teardown(self) -> None:
        """Every lease ends: without any further word of owners or worlds, time ends them all."""
        if not hasattr(self, "replicas"):
            return
        for _ in range(12):
            self.time_passes(61)
            for number in range(COUNT):
                self.destroyed(number)
        assert not self.leases and self.ended == {f"task {number}" for number in range(1, self.tasks + 1)}


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
