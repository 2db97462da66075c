"""The guard: what it admits, what it refuses, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.pool.guard import Estimates, Guard, GuardRules, HostReading

pytestmark = pytest.mark.unit

GIB = 1024.0
SMALL = HostReading(memory_mib=24 * GIB, available_mib=20 * GIB, cores=2, load=0.5)
BIG = HostReading(memory_mib=768 * GIB, available_mib=700 * GIB, cores=88, load=10)


@pytest.mark.parametrize(("memory_gib", "floor_gib"), [(24, 2.4), (31, 3.1), (32, 8), (64, 8), (80, 8), (768, 76.8)])
def test_the_floor_is_a_tenth_and_on_big_hosts_at_least_eight(memory_gib: float, floor_gib: float) -> None:
    reading = replace(BIG, memory_mib=memory_gib * GIB)
    assert Guard(GuardRules()).floor_mib(reading) == pytest.approx(floor_gib * GIB)


def test_unknown_worlds_count_as_six_gigabytes_and_those_in_flight_count() -> None:
    guard = Guard(GuardRules())
    assert guard.ask("a", "k", "fork", SMALL).admitted and guard.ask("b", "k", "fork", SMALL).admitted
    refused = guard.ask("c", "k", "fork", SMALL)
    assert not refused.admitted and refused.retry_after_s == 2.0
    assert refused.reason == (
        "this host has 20480 MiB available, 12288 of them set aside for 2 creations in flight; one more takes 6144 and 2458 "
        "must stay free"
    )
    guard.done("a")
    assert guard.ask("c", "k", "fork", SMALL).admitted


def test_what_was_measured_replaces_what_was_assumed() -> None:
    guard = Guard(GuardRules())
    guard.estimates.learn("debian", 50)
    verdicts = [guard.ask(number, "debian", "fork", SMALL).admitted for number in range(400)]
    assert sum(verdicts) == int((20 * GIB - 2.4 * GIB) / 50)


def test_estimates_are_of_the_larger_ones() -> None:
    estimates = Estimates(6000)
    for mib in (40, 90, 50):
        estimates.learn("k", mib)
    assert estimates.of("k") == 90 and estimates.of("other") == 6000
    for mib in [50] * 60 + [55] * 3 + [400]:
        estimates.learn("k", mib)
    assert estimates.of("k") == pytest.approx(50, abs=6), "one that went astray does not close the house"


@pytest.mark.parametrize("mib", [0, -1, float("nan")])
def test_what_is_no_amount_is_not_learnt(mib: float) -> None:
    with pytest.raises(ValueError, match="no amount"):
        Estimates(6000).learn("k", mib)


@pytest.mark.parametrize(
    ("reading", "word"),
    [
        (replace(BIG, load=353), "load is 353.0, over 352.0 for 88 processors"),
        (replace(BIG, load=1, waiting=0.7), "70% of the last ten seconds"),
    ],
)
def test_a_busy_processor_holds_up_cold_boots_only(reading: HostReading, word: str) -> None:
    guard = Guard(GuardRules())
    assert guard.ask("first", "k", "boot", reading).admitted, "one at a time goes on, however busy others keep the host"
    assert word in guard.ask("a", "k", "boot", reading).reason
    assert guard.ask("b", "k", "fork", reading).admitted and guard.ask("c", "k", "recovery", reading).admitted


def test_pressure_counts_before_load_where_the_kernel_tells_it() -> None:
    assert Guard(GuardRules()).ask("a", "k", "boot", replace(BIG, load=9999, waiting=0.1)).admitted


def test_one_creation_at_a_time_for_each() -> None:
    guard = Guard(GuardRules())
    guard.ask("a", "k", "fork", BIG)
    with pytest.raises(ValueError, match="in flight already"):
        guard.ask("a", "k", "fork", BIG)


@given(
    available=st.floats(0, 24 * GIB),
    needs=st.lists(st.floats(1, 8 * GIB), min_size=1, max_size=30),
    done=st.lists(st.integers(0, 29), max_size=10),
)
def test_what_is_set_aside_never_reaches_the_floor(available: float, needs: list[float], done: list[int]) -> None:
    guard = Guard(GuardRules())
    reading = replace(SMALL, available_mib=available)
    for number, need in enumerate(needs):
        guard.estimates.learn(str(number), need)
        guard.ask(number, str(number), "fork", reading)
        if number in done:
            guard.done(number)
        assert guard.set_aside_mib == 0 or available - guard.set_aside_mib >= guard.floor_mib(reading) - 1e-6
