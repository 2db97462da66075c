"""How long an episode may last."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gym_anything.errors import SpecInvalid

MAX_STEPS = "max_steps"
TIMEOUT = "timeout"
COMPLETED = "Agent Completed"
WORLD_BROKE = "world_lost"
CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an episode; None is none.

    Attributes:
        max_steps: calls of ``step``.
        timeout_sec: seconds from the first observation.
    """

    max_steps: int | None = None
    timeout_sec: float | None = None

    def changed(self, *, max_steps: int | None, timeout_sec: float | None) -> Limits:
        """Return these limits with the given ones replaced. Raises: SpecInvalid for one that is not positive."""
        if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1):
            raise SpecInvalid(f"max_steps must be a positive integer, not {max_steps!r}", detail={"key": "max_steps"})
        if timeout_sec is not None and not _is_positive(timeout_sec):
            raise SpecInvalid(
                f"timeout_sec must be a positive number, not {timeout_sec!r}", detail={"key": "timeout_sec"}
            )
        return Limits(
            self.max_steps if max_steps is None else max_steps,
            self.timeout_sec if timeout_sec is None else float(timeout_sec),
        )

    def reason_to_end(self, *, steps: int, elapsed_s: float) -> str | None:
        """Return ``max_steps`` or ``timeout`` when a limit is reached."""
        if self.max_steps is not None and steps >= self.max_steps:
            return MAX_STEPS
        if self.timeout_sec is not None and elapsed_s >= self.timeout_sec:
            return TIMEOUT
        return None

    def remaining_s(self, elapsed_s: float) -> float:
        """Return the seconds left, never negative; infinite without a limit."""
        return math.inf if self.timeout_sec is None else max(0.0, self.timeout_sec - elapsed_s)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
