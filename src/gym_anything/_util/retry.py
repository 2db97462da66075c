"""Trying again: only what is worth it, with growing pauses, never past the deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GymAnythingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often and how long.

    Attributes:
        attempts: the most tries in all, at least 1.
        base_s: the longest first pause; each further one may be twice as long.
        max_s: no pause is longer.
    """

    attempts: int = 5
    base_s: float = 0.2
    max_s: float = 10.0

    def pause_s(self, failures: int, chance: float) -> float:
        """Return the pause after this many failures; ``chance`` in [0, 1) spreads it over the upper half.

        Spreading keeps clients that failed together from coming back together.
        """
        longest = min(self.max_s, self.base_s * 2.0 ** min(failures - 1, 60))
        return longest * (0.5 + 0.5 * chance)


def worth_another_try(error: BaseException) -> bool:
    """Tell whether an error of ours says so itself (``retryable``)."""
    return isinstance(error, GymAnythingError) and error.retryable


def retry(
    call: Callable[[Deadline], T],
    *,
    deadline: Deadline,
    backoff: Backoff = Backoff(),
    worth: Callable[[BaseException], bool] = worth_another_try,
    sleep: Callable[[float], object] = time.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """Call until it succeeds, fails for good, or no time is left for another pause; then raise the last error.

    Args:
        call: gets the one deadline: a further try never gets more time than the first had left (L8).
        worth: whether this error is worth another try. What is not an ``Exception`` (Ctrl-C) never is.
    """
    failures = 0
    while True:
        try:
            return call(deadline)
        except Exception as error:  # a retry's boundary: what is not worth it is raised again
            failures += 1
            if failures >= backoff.attempts or not worth(error):
                raise
            pause = backoff.pause_s(failures, chance())
            if pause >= deadline.remaining():
                raise
        sleep(pause)
