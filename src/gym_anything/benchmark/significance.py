"""Whether two sets of results differ by more than chance. Pure; every probability is exact.

**Two experiments** are compared task by task (``paired_p``): the same tasks were played twice, and tasks differ far
more from each other than agents do, so that comparing the totals (Fisher) would drown what there is to see; and several
runs of a task are not independent tasks, which Fisher would take them for. Where each task has one run on either side,
this *is* McNemar's exact test. **One task** with several runs on either side is compared by ``fisher_p``: its runs are
independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

_MOST_BITS = 64_000_000
"""Room for the exact distribution; 2,000 tasks with 5 and 7 runs need less."""

PERMUTATION, SIGNS = "exact paired permutation test by task", "exact sign test by task"


def paired_p(differences: Sequence[Fraction | int]) -> tuple[float, str]:
    """Return the two-sided probability of tasks' differences at least this one-sided in sum, and the test's name.

    If both sides were alike, each task's difference could as well have had the other sign; this counts the share of all
    sign patterns whose sum is at least as far from 0. All 2**n patterns are counted, none is sampled.
    When the exact distribution takes too much room (thousands of tasks with runs in odd numbers), the size of the
    differences is left out of account: the sign test, which the name then says.
    """
    moved = [Fraction(each) for each in differences if each != 0]
    if not moved:
        return 1.0, PERMUTATION
    scale = math.lcm(*(each.denominator for each in moved))
    whole = [int(each * scale) for each in moved]
    divisor = math.gcd(*whole)
    whole = [each // divisor for each in whole]
    name = PERMUTATION
    if sum(map(abs, whole)) * _coefficient_bits(len(whole)) > _MOST_BITS:
        whole, name = [1 if each > 0 else -1 for each in whole], SIGNS
    return _sign_flip_p(whole), name


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return McNemar's exact two-sided probability.

    Args: tasks that only the first side passed, and only the second; tasks where both agree say nothing.
    Source: Q. McNemar, Psychometrika 12 (1947) 153-157; the exact form is the binomial test with p = 1/2.
    """
    tasks, fewer = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(tasks, count) for count in range(fewer + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**tasks)))


def fisher_p(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return Fisher's exact two-sided probability for (passed, failed) of two sides.

    The sum over all tables with the same margins that are no likelier than this one.
    Source: R. A. Fisher, Statistical Methods for Research Workers (1934), section 21.02.
    """
    passed, failed = first[0] + second[0], first[1] + second[1]
    runs = sum(first)
    ways = {
        count: math.comb(passed, count) * math.comb(failed, runs - count)
        for count in range(max(0, runs - failed), min(passed, runs) + 1)
    }
    here = ways[first[0]]
    return float(Fraction(sum(way for way in ways.values() if way <= here), sum(ways.values())))


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return probabilities adjusted for there being several, in their order.

    Among all that are then below a level, not even one is there by chance with more than that probability.
    Source: S. Holm, Scand. J. Statist. 6 (1979) 65-70.
    """
    adjusted = [1.0] * len(probabilities)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(probabilities)), key=lambda each: probabilities[each])):
        highest = max(highest, min(1.0, probabilities[index] * (len(probabilities) - rank)))
        adjusted[index] = highest
    return adjusted


def _coefficient_bits(count: int) -> int:
    """Return room for any number of patterns (2**count at most), in whole bytes."""
    return 8 * (count // 8 + 1)


def _sign_flip_p(whole: Sequence[int]) -> float:
    """The sums of all subsets of the sizes, as one long number: a coefficient for each sum, side by side."""
    total, bits = sum(map(abs, whole)), _coefficient_bits(len(whole))
    distance = abs(sum(whole))
    if distance == 0:
        return 1.0
    patterns = 1
    for each in whole:
        patterns += patterns << (abs(each) * bits)
    # A pattern whose negative sizes sum to t has the sum total - 2t; far out on one side means t is small.
    furthest = (total - distance) // 2
    low = (patterns & ((1 << ((furthest + 1) * bits)) - 1)).to_bytes((furthest + 1) * bits // 8, "little")
    step = bits // 8
    tail = sum(int.from_bytes(low[start : start + step], "little") for start in range(0, len(low), step))
    return float(Fraction(2 * tail, 2 ** len(whole)))
