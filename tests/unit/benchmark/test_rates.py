"""Wilson's interval and pass@k, against values worked out elsewhere and by counting."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.benchmark.rates import pass_at_k, wilson_interval

pytestmark = pytest.mark.unit

COUNTS = st.integers(1, 400).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs)))


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3 (score, no continuity correction)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # of everything, and half: worked out by hand from the formula with z = 1.959964
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
    ],
)
def test_wilsons_interval_is_the_published_one(passed: int, runs: int, low: float, high: float) -> None:
    found = wilson_interval(passed, runs)
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(COUNTS, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_an_interval_holds_its_rate_lies_within_0_and_1_and_mirrors(counts: tuple[int, int], level: float) -> None:
    passed, runs = counts
    found, mirrored = wilson_interval(passed, runs, level), wilson_interval(runs - passed, runs, level)
    assert found is not None and mirrored is not None
    assert 0 <= found.low <= passed / runs <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def test_nothing_is_known_of_no_runs() -> None:
    assert wilson_interval(0, 0) is None
    assert pass_at_k(0, 0, 1) is None


@pytest.mark.parametrize(
    ("passed", "runs", "k", "chance"),
    [(1, 5, 1, 0.2), (3, 10, 2, 8 / 15), (2, 4, 3, 1.0), (0, 4, 4, 0.0), (1, 3, 4, None)],
)
def test_pass_at_k_is_the_unbiased_estimate(passed: int, runs: int, k: int, chance: float | None) -> None:
    assert pass_at_k(passed, runs, k) == (None if chance is None else pytest.approx(chance, abs=1e-15))


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_choices_with_a_pass(counts: tuple[int, int, int]) -> None:
    passed, runs, k = counts
    choices = list(combinations([True] * passed + [False] * (runs - passed), k))
    assert pass_at_k(passed, runs, k) == pytest.approx(sum(map(any, choices)) / len(choices), abs=1e-12)


@pytest.mark.parametrize("wrong", [(-1, 3), (4, 3), (0, -1)])
def test_counts_that_are_none_are_refused(wrong: tuple[int, int]) -> None:
    calls: list[Any] = [lambda: wilson_interval(*wrong), lambda: pass_at_k(*wrong, 1)]
    for call in calls:
        with pytest.raises(ValueError, match="cannot have passed"):
            call()
    with pytest.raises(ValueError, match="confidence"):
        wilson_interval(1, 2, 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        pass_at_k(1, 2, 0)
