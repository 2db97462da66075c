"""Rates of passes and how sure they are: Wilson's interval, and the unbiased pass@k. Pure and exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a rate, both ends within 0 and 1."""

    low: float
    high: float


def wilson_interval(passed: int, runs: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's score interval of a rate; None without runs, of which nothing is known.

    It keeps what it promises for few runs and for rates near 0 and 1, where the usual plus-minus is wrong.
    It takes runs as independent draws. With several runs of each task that holds for a new run of *these* tasks (it is
    then a little too wide); for tasks like these it is too narrow.
    Raises: ValueError for counts that are none.
    Source: E. B. Wilson, JASA 22 (1927) 209-212.
    """
    _check_counts(passed, runs)
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if runs == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, spread = passed / runs, z * z / runs
    middle = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / runs + spread / (4 * runs)) / (1 + spread)
    # The ends are exact where every run went the same way; rounding must not say otherwise.
    return Interval(0.0 if passed == 0 else middle - half, 1.0 if passed == runs else middle + half)


def pass_at_k(passed: int, runs: int, k: int) -> float | None:
    """Return the chance that at least one of ``k`` runs of a task passes, unbiased; None with fewer than ``k`` runs.

    One minus the share of all choices of ``k`` among the runs that hold no pass.
    Raises: ValueError for counts that are none, or ``k`` below 1.
    Source: Chen et al., arXiv:2107.03374, equation 1.
    """
    _check_counts(passed, runs)
    if k < 1:
        raise ValueError(f"pass@k needs a k of at least 1, not {k}")
    if runs < k:
        return None
    return float(1 - Fraction(math.comb(runs - passed, k), math.comb(runs, k)))


def _check_counts(passed: int, runs: int) -> None:
    if not 0 <= passed <= runs:
        raise ValueError(f"of {runs} runs {passed} cannot have passed")
