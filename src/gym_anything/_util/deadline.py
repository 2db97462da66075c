"""Deadlines: one point in time that is passed down instead of a time-out for each layer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from gym_anything.errors import DeadlineExceeded


class Deadline:
    """A point on the monotonic clock by which something must be done.

    A deadline only ever gets shorter on its way down (``tightened``): a retry or an inner layer never relaxes it.
    """

    __slots__ = ("_at", "_now")

    def __init__(self, at: float, *, now: Callable[[], float] = time.monotonic) -> None:
        """Args: at: seconds on the clock ``now``; ``math.inf`` means never."""
        self._at = at
        self._now = now

    @classmethod
    def after(cls, seconds: float | None, *, now: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline ``seconds`` from now; ``None`` means never."""
        return cls(math.inf if seconds is None else now() + seconds, now=now)

    @classmethod
    def never(cls) -> Deadline:
        """Return a deadline that does not pass."""
        return cls(math.inf)

    @property
    def at(self) -> float:
        """The point in time, seconds on the monotonic clock."""
        return self._at

    def remaining(self) -> float:
        """Return the seconds left, never negative; ``math.inf`` for ``never``."""
        return max(0.0, self._at - self._now())

    def remaining_or_none(self) -> float | None:
        """Return the seconds left for an API that takes ``None`` as "for ever"."""
        return None if math.isinf(self._at) else self.remaining()

    def expired(self) -> bool:
        """Tell whether the point has passed."""
        return self._now() >= self._at

    def tightened(self, seconds: float | None) -> Deadline:
        """Return the earlier of this deadline and ``seconds`` from now."""
        if seconds is None:
            return self
        return Deadline(min(self._at, self._now() + seconds), now=self._now)

    def check(self, awaited: str, *, last_status: str = "", log_tail: str = "") -> None:
        """Raise ``DeadlineExceeded`` with a diagnosis if the point has passed."""
        if self.expired():
            raise expired_error(awaited, last_status=last_status, log_tail=log_tail)

    def __repr__(self) -> str:
        return f"Deadline(in {self.remaining():.3f} s)"


def expired_error(awaited: str, *, last_status: str = "", log_tail: str = "") -> DeadlineExceeded:
    """Build the error of a passed deadline: what was awaited, the last status, the log tail."""
    parts = [f"timed out waiting for {awaited}"]
    if last_status:
        parts.append(f"last status: {last_status}")
    if log_tail:
        parts.append(f"log tail:\n{log_tail}")
    return DeadlineExceeded(
        "; ".join(parts), detail={"awaited": awaited, "last_status": last_status, "log_tail": log_tail}
    )
