"""A pool: replicas that are warm before anybody asks, given out as leases, healed and refilled by themselves."""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff
from gym_anything.errors import NoReplica, StateError
from gym_anything.pool.admission import AdmissionRules, GuardedAdmission
from gym_anything.pool.guard import Guard, GuardRules, HostReading
from gym_anything.pool.host_reading import read_host
from gym_anything.pool.lease import Lease as Lease
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.outage import Outage
from gym_anything.pool.replica import Clock, Replica
from gym_anything.pool.replica_contract import PooledReplica
from gym_anything.pool.replica_events import EndLease
from gym_anything.pool.replica_state import ReplicaRules, State
from gym_anything.pool.replica_thread import ReplicaThread
from gym_anything.pool.world import ReplicaWorld

_WARM = (State.IDLE, State.ASSIGNED, State.RESETTING)


@dataclass(frozen=True, slots=True)
class PoolRules:
    """The size of a pool, and how its replicas and its guard behave.

    Attributes:
        least, most: replicas that are kept, and that there may be; equal: a fixed pool.
        cold: whether worlds are booted rather than forked: then a busy processor holds them up.
        kind: of world, for the estimate of its memory; a checkpoint's key.
        creating_at_once: so many are created at a time, others wait for their turn; None: as many as the guard admits.
        task_limit_s: how long one task may take, where nobody says otherwise.
        limit_of: how long a task may take by its own spec, for ``acquire_for``, which takes the shorter one; may block.
        retries: of an operation that was surely not applied, and of reads; ten after the first try.
        reads: which operations of its worlds change nothing: tried again after any error that is worth it.
        shrink_after_s: how long a replica beyond ``least`` may be idle before it is retired.
        try_again_s, try_again_max_s: when no replica comes up at all, the pause before it is tried with one more,
            doubled with each further one, and the longest.
    """

    least: int = 1
    most: int = 128
    cold: bool = False
    kind: str = "world"
    creating_at_once: int | None = None
    task_limit_s: float | None = None
    limit_of: Callable[[Any], float | None] | None = None
    shrink_after_s: float = 60.0
    try_again_s: float = 10.0
    try_again_max_s: float = 120.0
    retries: Backoff = field(default_factory=lambda: Backoff(attempts=11, base_s=0.05, max_s=5.0))
    reads: frozenset[str] = frozenset()
    replica: ReplicaRules = field(default_factory=ReplicaRules)
    guard: GuardRules = field(default_factory=GuardRules)

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most or self.most < 1:
            raise ValueError(f"a pool has at least one replica and least <= most, not {self.least} and {self.most}")
        if self.creating_at_once is not None and self.creating_at_once < 1:
            raise ValueError(f"at least one replica is created at a time, not {self.creating_at_once}")


class PoolShare(Protocol):
    """Several pools on one host, as one of them sees it."""

    def may_grow(self) -> bool:
        """Tell whether there may be one replica more."""

    def changed(self) -> None:
        """A replica rests or has gone, or somebody waits for room."""


class Pool:
    """Replicas of one kind of world. Lives in one event loop; use it as an asynchronous context manager."""

    def __init__(
        self,
        make_world: Callable[[], ReplicaWorld],
        rules: PoolRules,
        *,
        read: Callable[[], HostReading] = read_host,
        clock: Clock = time.monotonic,
        observer: PoolObserver | None = None,
        guard: Guard | None = None,
        label: str = "",
    ) -> None:
        """Nothing is made before ``start``.

        Args: observer: is told what happens. guard, label: of pools that share a host, one for all and one for each;
            the label begins the names of leases.
        """
        self.rules = rules
        self.observer = observer or PoolObserver()
        self.admission = GuardedAdmission(
            guard or Guard(rules.guard),
            AdmissionRules(rules.kind, rules.cold, rules.creating_at_once),
            read,
            clock,
            self.observer,
        )
        self.share: PoolShare | None = None
        """Who shares a host with other pools asks before it grows, and tells when a replica rests or has gone."""
        self._make_world, self._clock, self._label = make_world, clock, label
        self._numbers, self._names = itertools.count(1), itertools.count(1)
        self._replicas: dict[int, PooledReplica] = {}
        self._idle: deque[PooledReplica] = deque()
        self._leases: dict[str, Lease] = {}
        self._waiting: OrderedDict[str, deque[asyncio.Future[PooledReplica]]] = OrderedDict()
        self._closing = False
        self._outage = Outage(rules.try_again_s, rules.try_again_max_s, self._try_one)
        self._reader: ReplicaThread | None = None  # of the files of tasks
        self.last_failure = ""
        self._changed = asyncio.Event()

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to make the least number of replicas; does not wait for them."""
        self._refill()

    async def ready(self, count: int, deadline: Deadline) -> None:
        """Wait until so many replicas are idle or at work. Raises: NoReplica with what holds them up."""
        while self.counts()[State.IDLE] + self.counts()[State.ASSIGNED] < count:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), deadline.remaining_or_none())
            except TimeoutError:
                raise NoReplica(
                    f"not {count} replicas within the time; {self._why_none()}", detail=self.status()
                ) from None

    async def stop(self) -> None:
        """End every lease and replica; return when nothing is left of their worlds."""
        self._close()
        self._tell_waiting(StateError("the pool was stopped"))
        for lease in list(self._leases.values()):
            lease.ended = lease.ended or "the pool was stopped"
        await asyncio.gather(*(replica.stop() for replica in self._replicas.values()))
        self.observer.close()

    async def drain(self) -> None:
        """Give out no more and retire every replica once its task is over; return when all are."""
        self._close()
        self._tell_waiting(StateError("the pool drains"))
        for replica in list(self._replicas.values()):
            replica.retire("drained")
        while any(replica.state.state is not State.RETIRED for replica in self._replicas.values()):
            self._changed.clear()
            await self._changed.wait()
        await self.stop()

    def _close(self) -> None:
        self._closing = True
        self._outage.close()
        if self._reader is not None:
            self._reader.end()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # --- leases --------------------------------------------------------------------------------------------------

    async def acquire(self, deadline: Deadline, *, job: str = "", task_limit_s: float | None = None) -> Lease:
        """Return a warm replica, or wait for one; jobs that wait are served by turns.

        Args: task_limit_s: how long this task may take; None: as the rules say.
        Raises: NoReplica when none comes in time, StateError when the pool stops or drains.
        """
        if self._closing:
            raise StateError("the pool gives out no more replicas: it stops or drains")
        began = self._clock()
        replica = self._take_idle() or await self._wait_for_one(deadline, job)
        while replica.state.state is not State.IDLE:  # lost between the offer and now
            replica = self._take_idle() or await self._wait_for_one(deadline, job)
        lease = Lease(self, replica, f"{self._label}{replica.number}.{next(self._names)}")
        replica.assign(lease.name, self.rules.task_limit_s if task_limit_s is None else task_limit_s)
        self._leases[lease.name] = lease
        self.observer.lent(lease.name, replica.number, self._clock() - began)
        return lease

    async def acquire_for(self, task: Any, deadline: Deadline, *, job: str = "") -> Lease:
        """The same for a task, within its own limit. Raises: what is wrong with it, where the rules look at it."""
        limits = [self.rules.task_limit_s]
        if self.rules.limit_of is not None:
            self._reader = self._reader or ReplicaThread("task-limits")
            limits.append(await self._reader.call(functools.partial(self.rules.limit_of, task)))
        shortest = min((limit for limit in limits if limit is not None), default=None)
        return await self.acquire(deadline, job=job, task_limit_s=shortest)

    def _take_idle(self) -> PooledReplica | None:
        while self._idle:
            replica = self._idle.popleft()
            if replica.state.state is State.IDLE:
                return replica
        return None

    async def _wait_for_one(self, deadline: Deadline, job: str) -> PooledReplica:
        no_room = False
        if len(self._live()) < self.rules.most and not self._outage.lasts:
            no_room = self.share is not None and not self.share.may_grow()
            if not no_room:
                self._add()
        known = _WARM if self._outage.lasts else tuple(State)
        if not no_room and all(one.state.state not in known for one in self._live()):
            raise NoReplica(f"no replica comes up; {self._why_none()}", detail=self.status())
        waiting: asyncio.Future[PooledReplica] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job, deque()).append(waiting)
        if no_room and self.share is not None:
            self.share.changed()
        try:
            async with asyncio.timeout(deadline.remaining_or_none()):
                return await waiting
        except BaseException as error:  # also when whoever waits is cancelled
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._offer(waiting.result())  # it came at the same moment: the next one has it
            if isinstance(error, TimeoutError):
                raise NoReplica(f"no replica was free in time; {self._why_none()}", detail=self.status()) from None
            raise
        finally:
            self._stop_waiting(job, waiting)

    def _stop_waiting(self, job: str, waiting: asyncio.Future[PooledReplica]) -> None:
        queue = self._waiting.get(job)
        if queue is not None and waiting in queue:
            queue.remove(waiting)
            if not queue:
                del self._waiting[job]

    def forget(self, lease: str) -> None:
        """A lease is over."""
        if self._leases.pop(lease, None) is not None:
            self.observer.returned(lease, "released")

    # --- what replicas tell --------------------------------------------------------------------------------------

    def changed(self, replica: PooledReplica, before: State) -> None:
        """See ``Watcher``."""
        self.observer.transition(replica.number, replica.state.story[-1])
        if replica.state.state is State.IDLE:
            self._offer(replica)
            if self._outage.works() and self.share is None:
                self._refill()
        elif replica.state.state is State.RETIRED and not self._closing:
            self._replace(replica)
        self._changed.set()
        if self.share is not None and replica.state.state in (State.IDLE, State.RETIRED):
            self.share.changed()

    def measured(self, replica: PooledReplica, memory_mib: float) -> None:
        """See ``Watcher``."""
        self.admission.guard.estimates.learn(self.rules.kind, memory_mib)
        self.observer.memory(replica.number, memory_mib)

    def _replace(self, gone: PooledReplica) -> None:
        """Fill the place of a retired replica, unless nothing comes up at all."""
        del self._replicas[gone.number]
        asyncio.get_running_loop().create_task(gone.stop())
        if self._outage.gone(gone):
            self.last_failure = gone.state.story[-1].reason
            self._tell_waiting(NoReplica(f"no replica comes up; {self._why_none()}", detail=self.status()))
        elif len(self._live()) < self.rules.least and self.share is None:
            self._add()

    def _tell_waiting(self, error: Exception) -> None:
        for waiting in [one for queue in self._waiting.values() for one in queue]:
            if not waiting.done():
                waiting.set_exception(error)

    def lease_ended(self, replica: PooledReplica, ended: EndLease) -> None:
        """See ``Watcher``."""
        lease = self._leases.pop(ended.lease, None)
        if lease is not None:
            lease.ended = ended.reason
            self.observer.returned(lease.name, ended.reason)

    def _offer(self, replica: PooledReplica) -> None:
        """Give it to who waits; each job gets one before any gets a second."""
        while self._waiting:
            job, queue = next(iter(self._waiting.items()))
            waiting = queue.popleft()
            if queue:
                self._waiting.move_to_end(job)
            else:
                del self._waiting[job]
            if not waiting.done():
                waiting.set_result(replica)
                return
        self._idle.append(replica)
        if len(self._live()) > self.rules.least:
            since = len(replica.state.story), replica.state.story[-1].at
            asyncio.get_running_loop().call_later(self.rules.shrink_after_s, self._shrink, replica, since)

    def _shrink(self, replica: PooledReplica, since: tuple[int, float]) -> None:
        """Retire a replica that nobody has wanted since."""
        unused = (len(replica.state.story), replica.state.story[-1].at) == since
        if unused and not self._closing and len(self._live()) > self.rules.least:
            replica.retire("nobody wanted it")

    def _add(self) -> PooledReplica:
        number = next(self._numbers)
        replica = self._replicas[number] = self._new_replica(number)
        replica.want()
        return replica

    def _refill(self) -> None:
        while len(self._live()) < self.rules.least:
            self._add()

    def _try_one(self) -> PooledReplica | None:
        """Try whether a replica comes up again; None where there is no room, or others are not given up yet."""
        others = any(one.state.state not in (State.IDLE, State.ASSIGNED) for one in self._live())
        no_room = self.size >= self.rules.most or (self.share is not None and not self.share.may_grow())
        return None if others or no_room else self._add()

    def _new_replica(self, number: int) -> PooledReplica:
        """Return another replica, in this process."""
        return Replica(number, self._make_world, self.admission, self, self.rules.replica, self._clock)

    # --- beside other pools --------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many replicas there are, retired ones apart."""
        return len(self._live())

    @property
    def wanting(self) -> int:
        """How many more replicas those who wait could use, beyond those that are coming up."""
        waiting = sum(len(queue) for queue in self._waiting.values())
        coming = sum(one.state.state not in (State.ASSIGNED, State.RETIRED) for one in self._replicas.values())
        return max(0, min(waiting - coming, self.rules.most - self.size)) if not self._outage.lasts else 0

    @property
    def lacking(self) -> int:
        """How many more replicas it should have at least; none while nothing comes up: it tries by itself then."""
        return 0 if self._outage.lasts else max(0, self.rules.least - self.size)

    def grow(self) -> None:
        """Make one replica more."""
        self._add()

    def give_one_up(self, reason: str) -> bool:
        """Retire a replica that rests while nobody waits; tell whether there was one."""
        replica = None if self._waiting else self._take_idle()
        if replica is not None:
            replica.retire(reason)
        return replica is not None

    def _live(self) -> list[PooledReplica]:
        return [one for one in self._replicas.values() if one.state.state is not State.RETIRED]

    # --- reading -------------------------------------------------------------------------------------------------

    def counts(self) -> Counter[State]:
        """Return how many replicas are in each state."""
        return Counter(replica.state.state for replica in self._replicas.values())

    def status(self) -> dict[str, Any]:
        """Return plain data of the pool and each of its replicas, with their stories."""
        return {
            "counts": {state.value: count for state, count in self.counts().items()},
            "waiting": sum(len(queue) for queue in self._waiting.values()),
            "last_refusal": self.admission.last_refusal or None,
            "replicas": [
                {
                    "number": replica.number,
                    "state": replica.state.state.value,
                    "generation": replica.state.generation,
                    "lease": replica.state.lease,
                    "story": replica.story(),
                }
                for replica in self._replicas.values()
            ],
        }

    def _why_none(self) -> str:
        counts = ", ".join(f"{count} {state.value}" for state, count in self.counts().items())
        words = [f"replicas: {counts or 'none'}"]
        if self.admission.last_refusal:
            words.append(f"the guard last said: {self.admission.last_refusal}")
        if self.last_failure:
            words.append(f"the last one: {self.last_failure}")
        return "; ".join(words)
