"""Ways take turns in every round, so that whatever the machine does meets them all alike; and what their turns say."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gym_anything.measure.way import OURS, Way

_OURS_PER_ROUND = 5
_RESAMPLES = 2000
_FEWEST_ROUNDS = 5  # fewer say nothing about how sure a ratio is

OnRound = Callable[[str], None]
"""Told before each round which series it is of."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn gave.

    Attributes:
        value: in the series' unit.
        right: False: it came back without having done what the series measures (an old picture, a click not there yet).
        arrived: characters that arrived in order, where text is typed.
    """

    value: float
    right: bool = True
    arrived: int | None = None


@dataclass
class WayFound:
    """One way's turns, round by round."""

    name: str
    rounds: list[list[Turn]] = field(default_factory=list)

    @property
    def turns(self) -> list[Turn]:
        """All of them."""
        return [turn for each in self.rounds for turn in each]

    @property
    def values(self) -> list[float]:
        """What was measured, in the order of the turns."""
        return [turn.value for turn in self.turns]

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.values)

    def to_dict(self, ours: WayFound | None) -> dict[str, Any]:
        """Return plain data; every key is always there.

        Args: ours: what the ratio is to; None: no ratio.
        """
        values, arrived = self.values, [turn.arrived for turn in self.turns if turn.arrived is not None]
        ratio = None if ours is None or ours.p50 <= 0 else _rounded(self.p50 / ours.p50)
        return {
            "name": self.name,
            "p50": _rounded(self.p50),
            "p95": _rounded(float(np.percentile(values, 95))),
            "min": _rounded(min(values)),
            "max": _rounded(max(values)),
            "times_ours": ratio,
            "times_ours_95": _interval(self, ours) if ratio is not None and ours is not None else None,
            "wrong": sum(not turn.right for turn in self.turns),
            "arrived_fewest": min(arrived) if arrived else None,
            "samples": [_rounded(value) for value in values],
        }


@dataclass
class Series:
    """What was measured of every way.

    Attributes:
        key: stable name, for programs.
        title: what people read.
        unit: of every value.
        characters: how many are typed, where text is typed.
    """

    key: str
    title: str
    unit: str = "ms"
    characters: int | None = None
    ways: dict[str, WayFound] = field(default_factory=dict)

    def add(self, way: str, name: str, *turns: Turn) -> None:
        """Add a round of a way."""
        self.ways.setdefault(way, WayFound(name)).rounds.append(list(turns))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        ours = self.ways.get(OURS)
        return {
            "title": self.title,
            "unit": self.unit,
            "characters": self.characters,
            "ways": {key: way.to_dict(None if key.startswith(OURS) else ours) for key, way in self.ways.items()},
        }


def timed_ms(call: Callable[[], object]) -> float:
    """Return how long a call takes, in milliseconds."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def take_turns(
    series: Series,
    ways: Sequence[Way],
    rounds: int,
    sample: Callable[[Way, int], Turn],
    on_round: OnRound,
    *,
    ours_per_round: int = _OURS_PER_ROUND,
) -> Series:
    """Let every way that is there have its turn in every round; ours several, since it varies by microseconds.

    Args:
        sample: called with the way and a number that is another one every time.
    """
    number = 0
    for _ in range(rounds):
        on_round(series.title)
        for way in ways:
            if way.missing is not None:
                continue
            turns = []
            for _ in range(ours_per_round if way.is_ours else 1):
                number += 1
                turns.append(sample(way, number))
            series.add(way.key, way.name, *turns)
    return series


def _interval(way: WayFound, ours: WayFound) -> list[float] | None:
    """Return where 95 % of the ratios lie when the rounds are drawn again and again (bootstrap over whole rounds).

    A round is drawn with all its turns: what disturbed the machine in it disturbed both ways.
    """
    count = len(way.rounds)
    if count < _FEWEST_ROUNDS or len(ours.rounds) != count:
        return None
    drawn = np.random.default_rng(0).integers(0, count, (_RESAMPLES, count))
    medians = []
    for each in (way, ours):
        values = np.array([[turn.value for turn in turns] for turns in each.rounds])
        medians.append(np.median(values[drawn].reshape(_RESAMPLES, -1), axis=1))
    low, high = np.percentile(medians[0] / np.maximum(medians[1], 1e-9), [2.5, 97.5])
    return [_rounded(float(low)), _rounded(float(high))]


def _rounded(value: float) -> float:
    return round(value, 4)
