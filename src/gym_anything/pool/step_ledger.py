"""What a replica remembers of the steps it was told to do, so that none is done twice. Pure.

Whoever sends a step numbers it, from 1 on in each lease. An answer may be lost on its way; then the step is sent again
under the same number, and gets what the first one got. Three things can become of a step::

    done       its result is kept, and given to whoever sends it again
    not done   surely nothing was applied: the same number may be tried again
    unknown    it may or may not have been applied: it is never tried again, and whoever asks is told so
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from gym_anything.errors import GymAnythingError, InputDeliveryUnknown, InputNotDelivered, StateError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """Do it now, then say what became of it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """It is being done; its result will come."""


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """What became of it: a result, or an error to raise again."""

    result: T | None
    error: GymAnythingError | None = None


class StepLedger(Generic[T]):
    """The steps of one lease. Not thread-safe: the replica's thread asks.

    Attributes:
        last: number of the newest step that was begun.
    """

    def __init__(self, keep: int = 16) -> None:
        """Args: keep: how many outcomes are remembered; at least as many as may be on their way at once."""
        if keep < 1:
            raise ValueError(f"a ledger keeps at least one outcome, not {keep}")
        self._keep = keep
        self._known: OrderedDict[int, Known[T]] = OrderedDict()
        self._running: int | None = None
        self._again: int | None = None
        self.last = 0

    def begin(self, number: int) -> Run | Wait | Known[T]:
        """Take a step in.

        Raises: StateError for a number that cannot be right: steps are done one after another, each number follows the
            one before; or whose outcome is forgotten.
        """
        if number in self._known:
            return self._known[number]
        if number == self._running:
            return Wait()
        if self._running is not None:
            raise StateError(f"step {number} came while step {self._running} is being done")
        if number == self._again or (self._again is None and number == self.last + 1):
            self._running, self._again, self.last = number, None, number
            return Run()
        if 0 < number <= self.last:
            raise StateError(f"what became of step {number} is forgotten: {self._keep} outcomes are kept")
        expected = self.last + 1 if self._again is None else self._again
        raise StateError(f"step {number} came where step {expected} was due")

    def done(self, number: int, result: T) -> None:
        """The step was applied, with this result."""
        self._end(number, Known(result))

    def failed(self, number: int, error: GymAnythingError) -> None:
        """The step failed. Only ``InputNotDelivered`` says that nothing was applied; any other error is final.

        That an error is worth another try (``retryable``) is not enough: a picture that could not be taken may follow
        an input that was.
        """
        if isinstance(error, InputNotDelivered):
            self._check_running(number)
            self._running, self._again = None, number
        else:
            self._end(number, Known(None, error))

    def lost(self, reason: str) -> Known[T] | None:
        """The world went in the middle of a step, whose outcome is unknown then; return it (None: no step was on)."""
        if self._running is None:
            return None
        number = self._running
        self._end(
            number, Known(None, InputDeliveryUnknown(f"step {number} may or may not have been applied: {reason}"))
        )
        return self._known[number]

    def _end(self, number: int, outcome: Known[T]) -> None:
        self._check_running(number)
        self._running = None
        self._known[number] = outcome
        while len(self._known) > self._keep:
            self._known.popitem(last=False)

    def _check_running(self, number: int) -> None:
        if number != self._running:
            raise StateError(f"step {number} has ended, but {self._running} is the one that is being done")
