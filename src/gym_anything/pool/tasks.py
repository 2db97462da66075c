"""A task on a pool: from its beginning, on another replica when the one it had failed; what was tried is kept.

An attempt that broke is no sample: it is ``masked``, never scored 0. Only what is the world's or the host's fault is
tried again; a mistake of the policy, the content or the caller would be the same mistake on any replica. A task over
its time limit is the policy's; one whose owner showed no sign of life is the caller's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Blame, GymAnythingError, NoReplica
from gym_anything.pool.heartbeats import beating_for
from gym_anything.pool.pool import Lease, Pool

T = TypeVar("T")
TASK_RETRIES = 2
_WORTH_A_FRESH_REPLICA: tuple[Blame, ...] = ("world", "host")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a task.

    Attributes:
        replica: which it was on. error: what broke it; None: it went through to its end.
    """

    replica: int
    error: GymAnythingError | None = None

    @property
    def masked(self) -> bool:
        """True when it says nothing about the policy: its world, its judge or its host failed it."""
        return self.error is not None and self.blame != "policy"

    @property
    def blame(self) -> Blame | None:
        """Who has to act; None when nothing broke."""
        return None if self.error is None else self.error.blame


@dataclass(slots=True)
class TaskOutcome(Generic[T]):
    """What became of a task: its result, or the error that the last attempt ended with."""

    attempts: list[Attempt] = field(default_factory=list)
    result: T | None = None

    @property
    def error(self) -> GymAnythingError | None:
        """The last attempt's error."""
        return self.attempts[-1].error if self.attempts else None


async def run_task(
    pool: Pool,
    work: Callable[[Lease], Awaitable[T]],
    deadline: Deadline,
    *,
    job: str = "",
    retries: int = TASK_RETRIES,
    task_limit_s: float | None = None,
) -> TaskOutcome[T]:
    """Do a task on a replica of the pool, and again on another one while that is worth it.

    Args:
        work: the whole task, from its reset to its verdict; called anew for each attempt. It may think as long as it
            likes without losing its lease, as long as the event loop turns.
        task_limit_s: how long an attempt may take; None: as the pool's rules say.
    Raises: NoReplica, StateError (the pool stops), and what is no error of ours: a programming mistake.
    """
    outcome: TaskOutcome[T] = TaskOutcome()
    while True:
        lease = await pool.acquire(deadline, job=job, task_limit_s=task_limit_s)
        try:
            with beating_for(lease):
                outcome.result = await work(lease)
        except NoReplica:
            raise
        except GymAnythingError as error:
            attempt = Attempt(lease.replica_number, error)
            outcome.attempts.append(attempt)
            again = attempt.blame in _WORTH_A_FRESH_REPLICA and len(outcome.attempts) <= retries
            if not again or deadline.expired():
                return outcome
        else:
            outcome.attempts.append(Attempt(lease.replica_number))
            return outcome
        finally:
            broken = bool(outcome.attempts) and outcome.attempts[-1].blame in _WORTH_A_FRESH_REPLICA
            lease.release(broken=broken)
