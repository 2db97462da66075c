"""Trying again: only what is worth it, with growing pauses, never past the deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
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
            pause = _next_pause(failures, error, deadline, backoff, worth, chance)
            if pause is None:
                raise
        sleep(pause)


async def retry_async(
    call: Callable[[Deadline], Awaitable[T]],
    *,
    deadline: Deadline,
    backoff: Backoff = Backoff(),
    worth: Callable[[BaseException], bool] = worth_another_try,
    chance: Callable[[], float] = random.random,
) -> T:
    """Do what ``retry`` does, in an event loop."""
    import asyncio  # costs more to import than all else here

    failures = 0
    while True:
        try:
            return await call(deadline)
        except Exception as error:  # a retry's boundary: what is not worth it is raised again
            failures += 1
            pause = _next_pause(failures, error, deadline, backoff, worth, chance)
            if pause is None:
                raise
        await asyncio.sleep(pause)


def _next_pause(
    failures: int,
    error: BaseException,
    deadline: Deadline,
    backoff: Backoff,
    worth: Callable[[BaseException], bool],
    chance: Callable[[], float],
) -> float | None:
    """Return how long to wait for another try; None: there is none."""
    if failures >= backoff.attempts or not worth(error):
        return None
    pause = max(backoff.pause_s(failures, chance()), _asked_pause_s(error))
    return pause if pause < deadline.remaining() else None


def _asked_pause_s(error: BaseException) -> float:
    """Return how long the other side asked to be left alone (``detail["retry_after_s"]``), 0 if it did not."""
    asked = error.detail.get("retry_after_s") if isinstance(error, GymAnythingError) else None
    return float(asked) if isinstance(asked, int | float) else 0.0
