"""A replica that is lent to a task."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything._util.retry import retry_async, worth_another_try
from gym_anything.errors import GymAnythingError, InputDeliveryUnknown, InputNotDelivered, ReplicaFailed
from gym_anything.pool.replica_contract import PooledReplica

if TYPE_CHECKING:
    from gym_anything.pool.pool import Pool

_NO_INPUTS = frozenset({"reset", "evaluate"})
"""What every world knows and what is no input."""


@dataclass(slots=True)
class _Call:
    """An operation that is wanted.

    Attributes:
        reads: it changes nothing. limit_s: how long it might take when it was asked for. failure: of the last try,
            unless it was surely not applied.
    """

    operation: str
    argument: Any
    deadline: Deadline
    reads: bool
    limit_s: float
    failure: Exception | None = None

    @property
    def is_no_input(self) -> bool:
        """True where nothing is put in: without an answer it is late, no input is unknown."""
        return self.reads or self.operation in _NO_INPUTS

    def is_worth_another_try(self, error: BaseException) -> bool:
        """Tell whether to do it again: what was surely not applied, and a read whose failure may pass."""
        if isinstance(error, InputNotDelivered):
            return True
        return self.reads and worth_another_try(error) and not isinstance(error, ReplicaFailed)


class Lease:
    """A replica, lent to one task. Every call is a sign of life of its owner; ``beat`` where there is none for long.

    Data servers, ``run_task`` and ``BorrowedPool`` beat for what they hold (``Heartbeats``).

    Operations are done one after another, each once.
    """

    def __init__(self, pool: Pool, replica: PooledReplica, name: str) -> None:
        self.name = name
        self.ended = ""
        """Why it is over; "" while it is not."""
        self._pool, self._replica = pool, replica
        self._number = 1
        self._turn = asyncio.Lock()
        self._given_up: asyncio.Future[Any] | None = None

    @property
    def replica_number(self) -> int:
        """Which replica it is."""
        return self._replica.number

    @property
    def lease_s(self) -> float:
        """How long its owner may show no sign of life."""
        return self._pool.rules.replica.lease_s

    async def perform(self, operation: str, argument: Any = None, deadline: Deadline | None = None) -> Any:
        """Do one operation of the task, once. Blocks until the deadline at most.

        What was surely not applied is tried again, and so is a read (``PoolRules.reads``) whose error is ``retryable``.
        What has no answer by the deadline goes on; the next operation is done after it.

        Raises: as ``Replica.perform``, after the last try; InputNotDelivered when its turn did not come in time, and
            InputDeliveryUnknown when no answer came: for reads, reset and evaluate either is DeadlineExceeded.
        """
        deadline = deadline or Deadline.never()
        reads = operation in self._pool.rules.reads
        call = _Call(operation, self._replica.as_sent(argument), deadline, reads, deadline.remaining())
        await self._take_turn(call)
        try:
            with self._pool.observer.operation(self.name, self._replica.number, operation):
                return await retry_async(
                    lambda _: self._try(call),
                    deadline=deadline,
                    backoff=self._pool.rules.retries,
                    worth=call.is_worth_another_try,
                )
        finally:
            call.failure = None  # it holds us, and what its world held
            self._turn.release()

    async def _take_turn(self, call: _Call) -> None:
        try:
            async with asyncio.timeout(call.deadline.remaining_or_none()):
                await self._turn.acquire()
        except TimeoutError:
            raise self._not_begun(call) from None

    async def _try(self, call: _Call) -> Any:
        await self._end_of_given_up(call)
        if call.deadline.expired():
            raise self._not_begun(call)
        if call.failure is not None:
            self._pool.observer.tried_again(self.name, call.operation, call.failure)
        try:
            async with asyncio.timeout(call.deadline.remaining_or_none()):
                return await self._perform(call)
        except TimeoutError as error:
            if isinstance(error, GymAnythingError):  # the world's own
                raise
            raise self._no_answer(call) from None

    async def _perform(self, call: _Call) -> Any:
        try:
            result = await self._once(call)
        except asyncio.CancelledError:  # it goes on under its number; asked again for it, we learn how it ends
            self._given_up = asyncio.ensure_future(self._once(call))
            self._given_up.add_done_callback(_look_at)
            raise
        except InputNotDelivered:
            self._pool.observer.not_delivered(self.name, call.operation)
            raise  # nothing happened: the same number is next
        except Exception as error:
            self._number += 1
            call.failure = error
            raise
        self._number += 1
        return result

    async def _once(self, call: _Call) -> Any:
        return await self._replica.perform(self.name, self._number, call.operation, call.argument)

    async def _end_of_given_up(self, call: _Call) -> None:
        """Wait for what somebody stopped waiting for: the next operation comes after it, under a number of its own."""
        if self._given_up is not None:
            done, _ = await asyncio.wait([self._given_up], timeout=call.deadline.remaining_or_none())
            if not done:
                raise self._not_begun(call)
            self._number += not isinstance(_look_at(self._given_up), InputNotDelivered)
            self._given_up = None

    def _not_begun(self, call: _Call) -> GymAnythingError:
        awaited = f"the turn of {self._in_words(call)}"
        if call.is_no_input:
            return expired_error(awaited, last_status=self._last_status())
        return InputNotDelivered(f"nothing was applied: timed out waiting for {awaited}; {self._last_status()}")

    def _no_answer(self, call: _Call) -> GymAnythingError:
        awaited = f"an answer to {self._in_words(call)}"
        if call.is_no_input:
            return expired_error(awaited, last_status=self._last_status())
        return InputDeliveryUnknown(
            f"it may or may not have been applied: timed out waiting for {awaited}; {self._last_status()}"
        )

    def _in_words(self, call: _Call) -> str:
        return f"{call.operation!r} on replica {self._replica.number} within {round(call.limit_s, 2):g} s"

    def _last_status(self) -> str:
        return (self._replica.story() or ["it has no story"])[-1]

    def beat(self) -> None:
        """Show a sign of life; too late for a lease that is over."""
        if not self.ended:
            self._replica.heartbeat(self.name)

    def release(self, *, broken: bool = False) -> None:
        """Give it back; ``broken``: its world failed and is not used again. Idempotent."""
        self.ended = self.ended or "released"
        self._replica.release(self.name, broken=broken)
        self._pool.forget(self.name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release(broken=error is not None and getattr(error, "blame", "") == "world")


def _look_at(done: asyncio.Future[Any]) -> BaseException | None:
    return None if done.cancelled() else done.exception()
