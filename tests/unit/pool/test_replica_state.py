"""The state manager of a replica: what follows from what, by tables."""

from __future__ import annotations

import pytest

from gym_anything.pool import replica_events as ev
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules, ReplicaState, State

pytestmark = pytest.mark.unit

RULES = ReplicaRules(health=HealthRules(probe_every_s=5, missed_limit=3, settle_count=2), crash_limit=3)


class Told:
    """A replica and the clock that its events are of."""

    def __init__(self, rules: ReplicaRules = RULES) -> None:
        self.replica = ReplicaState(rules)
        self.now = 100.0

    def __call__(
        self, kind: type[ev.Event], *facts: object, after_s: float = 1.0, **more: object
    ) -> list[ev.Instruction]:
        self.now += after_s
        return self.replica.handle(kind(self.now, *facts, **more))

    @property
    def state(self) -> State:
        return self.replica.state


def created(rules: ReplicaRules = RULES) -> Told:
    """Return a replica with a world that nobody uses."""
    told = Told(rules)
    told(ev.Wanted)
    told(ev.Admitted)
    told(ev.Created, 1)
    return told


def assigned(task_limit_s: float | None = None) -> Told:
    """Return one that works on a task."""
    told = created()
    told(ev.Assigned, "t1", task_limit_s)
    return told


def test_a_world_comes_up_only_when_the_guard_has_set_resources_aside() -> None:
    told = Told()
    assert told(ev.Wanted) == [ev.AskAdmission()]
    assert (told.state, told.replica.holds_admission) == (State.QUEUED, False)
    assert told(ev.Admitted) == [ev.Create(1)]
    assert (told.state, told.replica.holds_admission) == (State.CREATING, True)
    assert told(ev.Created, 1) == [ev.GiveAdmissionBack()]
    assert (told.state, told.replica.holds_admission) == (State.IDLE, False)


def test_a_refused_creation_is_asked_for_again_after_the_hint() -> None:
    told = Told()
    told(ev.Wanted)
    told(ev.Refused, "no memory", 7.0)
    assert told.state is State.BACKING_OFF and told.replica.due() == told.now + 7
    assert told(ev.Tick, after_s=6.9) == []
    assert told(ev.Tick, after_s=0.2) == [ev.AskAdmission()]


def test_a_task_comes_and_goes_and_the_world_is_reset_in_between() -> None:
    told = assigned()
    assert told(ev.Released, "t1") == [ev.Reset(1)]
    assert told(ev.ResetDone, 1) == [] and told.state is State.IDLE
    assert told(ev.Assigned, "t2") == [] and told.replica.lease == "t2"


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        ((ev.Lost, 1, "its process ended"), "lost: its process ended"),
        ((ev.Released, "t1", True), "its task found it broken"),
    ],
)
def test_a_broken_world_is_destroyed_before_a_new_one_is_made(
    happens: tuple[type[ev.Event], object], reason: str
) -> None:
    told = assigned()
    kind, *facts = happens
    assert told(kind, *facts)[-1] == ev.Destroy(1)
    assert told.replica.story[-1].reason == reason
    assert told(ev.Tick) == [], "nothing else before it is gone"
    assert told(ev.Destroyed, 1) == [] and told.state is State.BACKING_OFF
    assert told(ev.Tick) == [ev.AskAdmission()]
    assert told(ev.Admitted) == [ev.Create(2)]


def test_the_owner_of_a_lost_world_is_told_so_at_once() -> None:
    told = assigned()
    assert told(ev.Lost, 1, "gone")[0] == ev.EndLease("t1", "lost: gone", "world")
    assert told(ev.Released, "t1") == [], "what it says afterwards changes nothing"


def test_resources_of_a_failed_creation_are_given_back_once_it_is_cleared_away() -> None:
    told = Told()
    told(ev.Wanted)
    told(ev.Admitted)
    assert told(ev.CreateFailed, 1, "no image") == [ev.Destroy(1)]
    assert told.replica.holds_admission
    assert told(ev.Destroyed, 1) == [ev.GiveAdmissionBack()]


def test_what_an_earlier_world_still_says_changes_nothing() -> None:
    told = created()
    told(ev.Lost, 1, "gone")
    told(ev.Destroyed, 1)
    told(ev.Tick)
    told(ev.Admitted)
    told(ev.Created, 2)
    for late in (ev.Lost(told.now, 1, "again"), ev.Destroyed(told.now, 1), ev.CreateFailed(told.now, 1, "late")):
        assert told.replica.handle(late) == [] and told.state is State.IDLE


@pytest.mark.parametrize(
    ("limit_s", "silent_s", "reason", "cause"),
    [(None, 61, "no sign of life", "silent"), (30, 31, "over its time limit", "limit")],
)
def test_a_leaked_task_is_reclaimed_and_the_world_reset(
    limit_s: float | None, silent_s: float, reason: str, cause: str
) -> None:
    told = assigned(task_limit_s=limit_s)
    assert told(ev.Tick, after_s=silent_s - 2) == [ev.Probe(1)]
    ended, reset, *_ = told(ev.Tick, after_s=2)
    assert isinstance(ended, ev.EndLease) and (ended.lease, ended.cause) == ("t1", cause) and reason in ended.reason
    assert reset == ev.Reset(1) and told.state is State.RESETTING


def test_what_a_task_over_its_limit_is_doing_is_aborted_and_counts_as_no_failure() -> None:
    told = created(ReplicaRules(crash_limit=1))
    told(ev.Assigned, "t1", 30.0)
    ended, *wishes = told(ev.Tick, after_s=31, busy=True)
    assert isinstance(ended, ev.EndLease) and wishes == [ev.Destroy(1)] and told.state is State.CLEARING
    assert told(ev.Destroyed, 1) == [ev.AskAdmission()] and told.state is State.QUEUED


def test_an_owner_that_shows_signs_of_life_keeps_its_lease() -> None:
    told = assigned()
    for _ in range(10):
        told(ev.Heartbeat, "t1", after_s=40)
        told(ev.ProbeAnswered, 1, 0.01)
        assert told(ev.Tick)[:1] != [ev.EndLease("t1", "")] and told.state is State.ASSIGNED


def test_a_world_in_doubt_is_asked_more_closely_until_it_answers_that() -> None:
    told = assigned()
    assert told(ev.Tick, after_s=5) == [ev.Probe(1, deep=False)]
    told(ev.Doubted, 1)
    told(ev.ProbeAnswered, 1, 0.1)
    assert told(ev.Tick, after_s=5) == [ev.Probe(1, deep=True)], "what was asked before the doubt dispels none"
    told(ev.ProbeAnswered, 1, 0.1)
    assert told(ev.Tick, after_s=5) == [ev.Probe(1, deep=False)]
    told(ev.ProbeAnswered, 1, 0.1)
    told(ev.Doubted, 0)
    assert told(ev.Tick, after_s=5) == [ev.Probe(1, deep=False)], "an earlier world's failure is not this one's"


def test_a_world_that_misses_three_probes_hangs_and_is_asked_more_closely_before() -> None:
    told = created()
    assert told(ev.Tick, after_s=5) == [ev.Probe(1, deep=False)]
    assert told(ev.Tick, after_s=5) == [], "an answer is awaited"
    for _ in range(2):
        assert told(ev.ProbeMissed, 1, "no answer in 2 s") == []
        assert told(ev.Tick, after_s=5) == [ev.Probe(1, deep=True)]
    assert told(ev.ProbeMissed, 1, "no answer in 2 s") == [ev.Destroy(1)]
    assert told.replica.story[-1].reason == "hangs: no answer in 2 s"


@pytest.mark.parametrize(("first_s", "later_s"), [(0.001, 0.4), (0.2, 1.5)])
def test_a_world_that_gets_slower_is_replaced_by_the_rules_as_they_are(first_s: float, later_s: float) -> None:
    told = created(ReplicaRules())
    for _ in range(5):
        assert told(ev.ProbeAnswered, 1, first_s) == []
    for _ in range(100):
        assert told(ev.ProbeAnswered, 1, 1.2 * first_s) == []
    assert ev.Destroy(1) in [wish for _ in range(20) for wish in told(ev.ProbeAnswered, 1, later_s, after_s=5)]
    told_why = next(one.reason for one in told.replica.story if one.after is State.CLEARING)
    assert told_why.startswith("drifting: it answers after more than") and later_s < HealthRules().probe_limit_s


def test_a_task_keeps_its_world_although_it_gets_slower_and_the_next_one_is_measured_anew() -> None:
    told = created()
    for _ in range(2):
        told(ev.ProbeAnswered, 1, 0.01)
    told(ev.Assigned, "t1")
    for _ in range(30):
        assert told(ev.ProbeAnswered, 1, 1.5, 600.0) == []
    told(ev.Released, "t1")
    assert told(ev.ProbeAnswered, 1, 1.5, 600.0) == [], "it is being replaced already"
    told(ev.ResetDone, 1)
    assert told(ev.ProbeAnswered, 1, 3.0, 600.0) == [], "asked before the reset"
    for _ in range(30):
        assert told(ev.ProbeAnswered, 1, 0.01, 60.0) == []
    assert told(ev.ProbeAnswered, 1, 0.01, 300.0) == [ev.Destroy(1)], "five times what the new one took at first"


def test_one_answer_that_was_held_up_is_no_drift_and_half_of_them_missed_is_none_yet() -> None:
    told = created()
    for _ in range(2):
        told(ev.ProbeAnswered, 1, 0.01)
    assert told(ev.ProbeAnswered, 1, 1.9) == [] and told(ev.ProbeMissed, 1, "no answer") == []
    for _ in range(30):
        assert told(ev.ProbeMissed, 1, "no answer") == [] and told(ev.ProbeAnswered, 1, 0.01) == []


def test_a_world_that_misses_more_probes_than_it_answers_drifts() -> None:
    told = created()
    for _ in range(2):
        told(ev.ProbeAnswered, 1, 0.01)
    wishes = []
    for _ in range(10):
        for event in ((ev.ProbeMissed, 1, "no answer"), (ev.ProbeMissed, 1, "no answer"), (ev.ProbeAnswered, 1, 0.25)):
            wishes += told(*event)
    assert ev.Destroy(1) in wishes


def test_a_world_that_grows_is_replaced() -> None:
    told = created()
    told(ev.ProbeAnswered, 1, 0.01, 60.0)
    assert told(ev.ProbeAnswered, 1, 0.01, 200.0) == []
    assert told(ev.ProbeAnswered, 1, 0.01, 300.0) == [ev.Destroy(1)]


def test_a_crash_loop_is_slowed_down_and_then_ended() -> None:
    told = Told()
    told(ev.Wanted)
    pauses = []
    for generation in (1, 2, 3):
        told(ev.Admitted)
        told(ev.CreateFailed, generation, "no image")
        told(ev.Destroyed, generation)
        if told.state is State.BACKING_OFF:
            pauses.append((told.replica.due() or 0) - told.now)
            told(ev.Tick, after_s=60)
    assert pauses == [0.5, 1.0]
    assert told.state is State.RETIRED
    assert "failed 3 times, the last time: not created: no image" in told.replica.story[-1].reason


def test_failures_that_lie_far_apart_are_no_crash_loop() -> None:
    told = created()
    for generation in range(1, 8):
        told(ev.Lost, generation, "gone", after_s=601)
        told(ev.Destroyed, generation)
        told(ev.Tick, after_s=1)
        told(ev.Admitted)
        told(ev.Created, generation + 1)
    assert told.state is State.IDLE


def test_tasks_that_go_well_in_between_do_not_keep_a_world_that_dies_again_and_again() -> None:
    told = created()
    pauses = []
    for generation in (1, 2, 3):
        told(ev.Assigned, f"well {generation}")
        told(ev.Released, f"well {generation}")
        told(ev.ResetDone, generation)
        told(ev.Assigned, f"badly {generation}")
        told(ev.Lost, generation, "gone")
        told(ev.Destroyed, generation)
        if told.state is State.BACKING_OFF:
            pauses.append((told.replica.due() or 0) - told.now)
            told(ev.Tick, after_s=60)
            told(ev.Admitted)
            told(ev.Created, generation + 1)
    assert told.state is State.RETIRED and "failed 3 times" in told.replica.story[-1].reason
    assert pauses == [0.5, 0.5], "the pause grows only while nothing goes well"


def test_the_pause_stays_within_its_bound_however_often_it_fails() -> None:
    told = Told(ReplicaRules(crash_limit=10_000, back_off_max_s=7))
    told(ev.Wanted)
    for generation in range(1, 1200):
        told(ev.Admitted)
        told(ev.CreateFailed, generation, "no image")
        told(ev.Destroyed, generation)
        told(ev.Tick, after_s=7)
    assert told.state is State.QUEUED


@pytest.mark.parametrize(("state", "limit_s"), [(State.CREATING, 120.0), (State.RESETTING, 60.0)])
def test_what_takes_too_long_has_failed(state: State, limit_s: float) -> None:
    told = Told()
    told(ev.Wanted)
    told(ev.Admitted)
    if state is State.RESETTING:
        told(ev.Created, 1)
        told(ev.Assigned, "t1")
        told(ev.Released, "t1")
    assert told.state is state
    assert ev.Destroy(1) in told(ev.Tick, after_s=limit_s)


def test_a_world_that_cannot_be_removed_is_never_joined_by_another() -> None:
    told = created()
    told(ev.Lost, 1, "gone")
    told(ev.Tick, after_s=30)
    assert told.state is State.RETIRED and "not removed" in told.replica.story[-1].reason
    assert told(ev.Wanted) == []


@pytest.mark.parametrize(
    ("before", "instructions"),
    [
        ([], []),
        ([(ev.Wanted,)], []),
        ([(ev.Wanted,), (ev.Refused, "full", 9.0)], []),
        ([(ev.Wanted,), (ev.Admitted,), (ev.Created, 1)], [ev.Destroy(1)]),
    ],
)
def test_retired_at_once_when_it_does_nothing(
    before: list[tuple[type[ev.Event], object]], instructions: list[ev.Instruction]
) -> None:
    told = Told()
    for kind, *facts in before:
        told(kind, *facts)
    assert told(ev.Retire, "drained") == instructions
    if instructions:
        told(ev.Destroyed, 1)
    assert told.state is State.RETIRED and told.replica.story[-1].reason == "drained"


def test_retired_after_its_task() -> None:
    told = assigned()
    assert told(ev.Retire, "drained") == []
    assert told(ev.Released, "t1") == [ev.Destroy(1)]
    told(ev.Destroyed, 1)
    assert told.state is State.RETIRED


def test_an_admission_that_comes_too_late_is_given_back() -> None:
    told = Told()
    told(ev.Wanted)
    told(ev.Retire, "drained")
    assert told(ev.Admitted) == [ev.GiveAdmissionBack()]


@pytest.mark.parametrize("event", [ev.Assigned(200, "t1"), ev.Admitted(200), ev.Tick(1)])
def test_events_that_nobody_can_have_meant_are_refused(event: ev.Event) -> None:
    told = Told()
    told(ev.Wanted)
    told(ev.Admitted)
    with pytest.raises(ValueError, match=r"while creating|after one of"):
        told.replica.handle(event)


def test_the_story_says_when_from_where_to_where_and_why() -> None:
    told = assigned()
    first, *_, last = told.replica.story
    assert (first.before, first.after, first.reason) == (State.COLD, State.QUEUED, "the pool wants it")
    assert (last.before, last.after, last.generation, last.lease) == (State.IDLE, State.ASSIGNED, 1, "t1")
    assert [one.at for one in told.replica.story] == sorted(one.at for one in told.replica.story)
