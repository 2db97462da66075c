"""Exact tests, against published values and against counting every pattern."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.benchmark import significance
from gym_anything.benchmark.significance import PERMUTATION, SIGNS, fisher_p, holm, mcnemar_p, paired_p

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ((3, 1), (1, 3), 34 / 70),  # the lady tasting tea, both sides
        ((8, 2), (1, 5), 0.0349650350),
        ((1, 9), (11, 3), 0.0027594562),  # dieting men and women, the textbook table
        ((0, 5), (5, 0), 2 / 252),
        ((4, 0), (4, 0), 1.0),
        ((0, 0), (3, 2), 1.0),
    ],
)
def test_fishers_test_is_the_published_one(first: tuple[int, int], second: tuple[int, int], p: float) -> None:
    assert fisher_p(first, second) == pytest.approx(p, abs=1e-9)
    assert fisher_p(second, first) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"), [(1, 9, 22 / 1024), (0, 6, 2 / 64), (5, 5, 1.0), (0, 0, 1.0), (0, 1, 1.0)]
)
def test_mcnemars_test_is_the_binomial_one(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_p(only_first, only_second) == pytest.approx(p, abs=1e-12)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 10))
def test_with_one_run_of_each_task_the_paired_test_is_mcnemars(lost: int, won: int, same: int) -> None:
    p, name = paired_p([-1] * lost + [1] * won + [0] * same)
    assert name == PERMUTATION
    assert p == pytest.approx(mcnemar_p(lost, won), rel=1e-12)


@settings(max_examples=60)
@given(st.lists(st.fractions(-1, 1, max_denominator=5), max_size=9))
def test_the_paired_test_counts_every_pattern_of_signs(differences: list[Fraction]) -> None:
    there = abs(sum(differences, Fraction(0)))
    sums = [sum((s * d for s, d in zip(signs, differences, strict=True)), Fraction(0))
            for signs in product((1, -1), repeat=len(differences))]  # fmt: skip
    expected = sum(abs(each) >= there for each in sums) / len(sums)
    assert paired_p(differences)[0] == pytest.approx(expected, abs=1e-12)


def test_many_tasks_with_odd_numbers_of_runs_are_still_counted_exactly() -> None:
    differences = [Fraction(number % 3, 5) - Fraction(number % 5, 7) for number in range(1000)]
    p, name = paired_p(differences)
    assert name == PERMUTATION and p < 1e-4


def test_what_takes_too_much_room_says_that_it_counted_signs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "_MOST_BITS", 50)
    p, name = paired_p([Fraction(1, 7), Fraction(2, 11), Fraction(3, 13), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
    assert name == SIGNS and p == pytest.approx(2 / 64)


def test_holms_adjustment_is_the_published_one() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
