"""Turns, ratios and texts, without a screen."""

from __future__ import annotations

import pytest

from gym_anything.measure.turns import Series, Turn, take_turns
from gym_anything.measure.typed_text import ASCII, MIXED, arrived_in_order
from gym_anything.measure.way import Way

pytestmark = pytest.mark.unit

OURS, OTHER = Way("ours", "ours", lambda: None), Way("other", "other", lambda: None)
MISSING = Way("gone", "gone", lambda: None, "gone is not installed")


def measured(rounds: int, ours: float = 1.0, other: float = 20.0) -> Series:
    values = {"ours": ours, "other": other}
    return take_turns(
        Series("key", "title"), [OURS, MISSING, OTHER], rounds, lambda way, n: Turn(values[way.key]), lambda _: None
    )


def test_the_ways_take_turns_in_every_round_and_one_that_is_missing_has_none() -> None:
    order: list[str] = []
    told: list[str] = []

    def sample(way: Way, number: int) -> Turn:
        order.append(f"{way.key}{number}")
        return Turn(1.0)

    series = take_turns(Series("key", "title"), [OURS, MISSING, OTHER], 2, sample, told.append, ours_per_round=2)
    assert order == ["ours1", "ours2", "other3", "ours4", "ours5", "other6"]
    assert told == ["title", "title"]
    assert list(series.ways) == ["ours", "other"]


def test_a_ratio_is_of_the_medians_and_ours_has_none() -> None:
    series = Series("key", "title")
    series.add("ours", "ours", Turn(1.0), Turn(2.0), Turn(9.0))
    series.add("other", "other", Turn(20.0), Turn(40.0), Turn(30.0))
    found = series.to_dict()["ways"]
    assert found["other"]["times_ours"] == 15 and found["ours"]["times_ours"] is None
    assert (found["ours"]["min"], found["ours"]["p50"], found["ours"]["max"]) == (1, 2, 9)


def test_a_ratio_says_how_sure_it_is_once_there_are_rounds_enough() -> None:
    assert measured(4).to_dict()["ways"]["other"]["times_ours_95"] is None
    assert measured(5).to_dict()["ways"]["other"]["times_ours_95"] == [20, 20]
    noisy = Series("key", "title")
    for n in range(20):
        noisy.add("ours", "ours", Turn(1.0 + n % 3), Turn(1.0))
        noisy.add("other", "other", Turn(10.0 + n % 7))
    found = noisy.to_dict()["ways"]["other"]
    low, high = found["times_ours_95"]
    assert low < found["times_ours"] < high < 17


def test_no_ratio_to_something_that_costs_nothing() -> None:
    assert measured(5, ours=0.0).to_dict()["ways"]["other"]["times_ours"] is None


def test_turns_that_did_not_do_what_is_measured_are_counted() -> None:
    series = Series("key", "title", characters=10)
    series.add("ours", "ours", Turn(1.0, True, 10), Turn(1.0, False, 7))
    found = series.to_dict()["ways"]["ours"]
    assert found["wrong"] == 1 and found["arrived_fewest"] == 7


@pytest.mark.parametrize(
    ("typed", "arrived", "count"),
    [
        ("abc", "abc", 3),
        ("abc", "", 0),
        ("abc", "acb", 2),
        ("aabb", "ab", 2),
        ("ab", "aabb", 2),
        ("привет 😀", "привт 😀", 7),
        ("a<b>c", "a>b>c", 4),
        (ASCII, ASCII[:500] + ASCII[501:], 999),
    ],
)
def test_characters_that_arrived_in_order(typed: str, arrived: str, count: int) -> None:
    assert arrived_in_order(typed, arrived) == count


def test_the_texts_are_what_their_names_say() -> None:
    assert len(ASCII) == 1000 and ASCII.isascii() and ASCII.isprintable()
    assert len(MIXED) == 120 and any(ord(c) > 0xFFFF for c in MIXED)
