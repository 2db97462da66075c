"""Waiting and trying again, on a clock moved by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util.clock import ManualClock
from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff, retry
from gym_anything._util.waiting import wait_until
from gym_anything.errors import Aborted, DeadlineExceeded, SpecInvalid, Unreachable

pytestmark = pytest.mark.unit


def test_a_condition_is_asked_at_once_and_its_answer_returned() -> None:
    clock = ManualClock()
    answer = wait_until(lambda: "yes", deadline=Deadline.after(0, now=clock.now), awaited="it", sleep=clock.advance)
    assert answer == "yes"
    assert clock.now() == 0


def test_intervals_grow_from_half_a_millisecond_to_the_longest() -> None:
    clock, pauses = ManualClock(), list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock.advance(seconds)

    wait_until(lambda: clock.now() > 1, deadline=Deadline.after(5, now=clock.now), awaited="it", sleep=sleep)
    assert pauses[0] == pytest.approx(0.0005)
    assert max(pauses) == pytest.approx(0.05)
    assert pauses == sorted(pauses)


def test_the_condition_is_asked_once_more_after_the_deadline() -> None:
    """A machine that was busy elsewhere must not fail what has come true meanwhile."""
    clock = ManualClock()
    answers = iter([False, True])
    wait_until(
        lambda: next(answers),
        deadline=Deadline.after(0.001, now=clock.now),
        awaited="it",
        sleep=lambda _: clock.advance(9),
    )


def test_a_time_out_says_what_was_awaited_the_last_status_and_the_log() -> None:
    clock = ManualClock()
    with pytest.raises(DeadlineExceeded, match=r"(?s)the panel.*3 of 4 windows.*cannot open display") as caught:
        wait_until(
            lambda: False,
            deadline=Deadline.after(1, now=clock.now),
            awaited="the panel",
            status=lambda: "3 of 4 windows",
            log_tail=lambda: "cannot open display",
            sleep=clock.advance,
        )
    assert caught.value.detail["last_status"] == "3 of 4 windows"


def test_an_abort_ends_the_wait() -> None:
    with pytest.raises(Aborted):
        wait_until(lambda: False, deadline=Deadline.never(), awaited="it", aborted=lambda: True)


def test_what_the_condition_raises_passes_through() -> None:
    def condition() -> bool:
        raise KeyError("x")

    with pytest.raises(KeyError):
        wait_until(condition, deadline=Deadline.after(1), awaited="it")


def test_a_retry_stops_at_success() -> None:
    clock, failures = ManualClock(), iter([Unreachable("1"), Unreachable("2"), None])

    def call(_: Deadline) -> str:
        error = next(failures)
        if error is not None:
            raise error
        return "done"

    assert retry(call, deadline=Deadline.after(99, now=clock.now), sleep=clock.advance) == "done"


def test_what_is_not_worth_another_try_is_raised_at_once() -> None:
    clock, calls = ManualClock(), list[int]()

    def call(_: Deadline) -> None:
        calls.append(1)
        raise SpecInvalid("bad")

    with pytest.raises(SpecInvalid):
        retry(call, deadline=Deadline.after(99, now=clock.now), sleep=clock.advance)
    assert len(calls) == 1


@given(st.integers(1, 8), st.floats(0.01, 5), st.floats(0.01, 30), st.floats(0, 20), st.floats(0, 0.999))
def test_a_retry_never_exceeds_its_attempts_its_deadline_or_the_first_limit(
    attempts: int, base_s: float, max_s: float, limit_s: float, chance: float
) -> None:
    """L8: a retry never relaxes a limit: each try gets the one deadline."""
    clock, seen = ManualClock(), list[float]()
    backoff = Backoff(attempts=attempts, base_s=base_s, max_s=max_s)

    def call(deadline: Deadline) -> None:
        seen.append(deadline.at)
        raise Unreachable("no")

    with pytest.raises(Unreachable):
        retry(
            call,
            deadline=Deadline.after(limit_s, now=clock.now),
            backoff=backoff,
            sleep=clock.advance,
            chance=lambda: chance,
        )
    assert 1 <= len(seen) <= attempts
    assert set(seen) == {limit_s}
    assert clock.now() <= limit_s


@given(st.integers(1, 2000), st.floats(0, 0.999))
def test_pauses_are_bounded_and_spread_over_the_upper_half(failures: int, chance: float) -> None:
    pause = Backoff(base_s=0.1, max_s=3).pause_s(failures, chance)
    assert min(3, 0.1 * 2 ** min(failures - 1, 60)) / 2 <= pause <= 3
