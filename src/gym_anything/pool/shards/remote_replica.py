"""A replica that lives in a shard, as its pool sees it: what is known of it, and how it is told what is wanted."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from gym_anything.errors import BadWire, GymAnythingError, InputDeliveryUnknown, ReplicaFailed, StateError, from_wire
from gym_anything.observations.screen import FastScreen
from gym_anything.pool.lease_end import replica_failed
from gym_anything.pool.replica_contract import Watcher
from gym_anything.pool.replica_events import EndLease
from gym_anything.pool.replica_state import ReplicaRules, State, Transition
from gym_anything.pool.replica_thread import settle
from gym_anything.pool.shards import messages as say
from gym_anything.pool.shards.payload import ship, unship
from gym_anything.pool.shards.slab import SlabReader

Say = Callable[[say.Message], None]


@dataclass(slots=True)
class MirroredState:
    """What the shard has told of a replica; ``lease`` is what the pool has told the shard."""

    story: deque[Transition]
    state: State = State.COLD
    generation: int = 0
    lease: str | None = None


class RemoteReplica:
    """See ``PooledReplica``. Lives in the pool's event loop.

    What it is told takes effect when the shard hears it; an assignment that came too late ends as a lost lease does.
    """

    def __init__(self, number: int, watcher: Watcher, rules: ReplicaRules, clock: Callable[[], float]) -> None:
        self.number = number
        self.state = MirroredState(deque(maxlen=rules.story_length))
        self._watcher, self._rules, self._clock = watcher, rules, clock
        self._say: Say | None = None
        self._awaited: dict[tuple[str, int], list[asyncio.Future[Any]]] = {}
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._slab: SlabReader | None = None
        self._screens: list[weakref.ref[FastScreen]] = []
        self._wanted = False
        self._retiring = ""
        self._earlier = 0
        self._ended: EndLease | None = None
        self._beat_at = float("-inf")

    # --- what a pool wants ---------------------------------------------------------------------------------------

    def want(self) -> None:
        """See ``Replica``."""
        self._wanted = True
        self._tell(say.Add(self.number))

    def retire(self, reason: str) -> None:
        """See ``Replica``; without a shard there is nothing to wait for."""
        self._retiring = self._retiring or reason
        if self._say is not None:
            if self.state.state is State.IDLE:
                self.state.state = State.CLEARING  # at once: nobody is lent it before the shard has heard of this
            self._say(say.Retire(self.number, reason))
        else:
            self._wanted = False
            self._go(State.RETIRED, reason)

    def assign(self, lease: str, task_limit_s: float | None = None) -> None:
        """See ``Replica``."""
        if self.state.state is not State.IDLE or self.state.lease is not None:
            raise ValueError(f"assigned to {lease} while {self.state.state.value}")
        self.state.state, self.state.lease = State.ASSIGNED, lease
        self._beat_at = self._clock()
        self._tell(say.Assign(self.number, lease, task_limit_s))

    def heartbeat(self, lease: str) -> None:
        """See ``Replica``; several within a short time are one."""
        now = self._clock()
        if now - self._beat_at > self._rules.lease_s / 8:
            self._beat_at = now
            self._tell(say.Beat(self.number, lease))

    def release(self, lease: str, *, broken: bool = False) -> None:
        """See ``Replica``."""
        if self.state.lease == lease:
            self.state.lease = None
            self._tell(say.Release(self.number, lease, broken))

    def as_sent(self, argument: Any) -> str:
        """Return an argument as JSON. Raises: StateError for what is no JSON data."""
        shipped = ship(argument)
        if shipped.special:
            raise StateError("the argument of an operation is JSON data: no bytes, no arrays")
        return shipped.text

    def perform(self, lease: str, number: int, operation: str, argument: Any) -> Awaitable[Any]:
        """See ``Replica``. Arrays in the result are views of shared memory, valid until its next operation.

        The screens of fast mode that somebody holds then become the holder's own copies before. ``argument``: of
        ``as_sent``.
        """
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        others = self._awaited.get((lease, number))
        if others is not None:
            others.append(waiting)
        else:
            if self.state.lease != lease or self._say is None:
                raise self._failed(lease)
            self._let_go()
            self._beat_at = self._clock()
            self._awaited[lease, number] = [waiting]
            self._say(say.Do(self.number, lease, number, operation, argument))
        return waiting

    def story(self) -> list[str]:
        """See ``Replica``."""
        return [f"{one.at:.3f} {one.before.value} -> {one.after.value}: {one.reason}" for one in self.state.story]

    async def stop(self) -> None:
        """See ``Replica``."""
        self._retiring, self._wanted = self._retiring or "stopped", False
        if self._say is None:
            self._end()
        else:
            self._say(say.Stop(self.number))
        await self._stopped

    @property
    def ended(self) -> bool:
        """True when nothing is left of it."""
        return self._stopped.done()

    # --- what its shard says -------------------------------------------------------------------------------------

    def connect(self, tell: Say) -> None:
        """A shard is there for it, a first or another one."""
        self._say = tell
        if self._wanted:
            self._tell(say.Add(self.number))

    def moved(self, message: say.Moved) -> None:
        """It went from one state to another."""
        before, after = self.state.state, State(message.after)
        self.state.generation = self._earlier + message.generation
        told = Transition(
            message.at, State(message.before), after, message.reason, self.state.generation, message.lease
        )
        self.state.story.append(told)
        self.state.state = after
        if after is State.IDLE and self.state.lease is not None:
            self.state.state = State.ASSIGNED  # the shard has yet to hear of a lease: it will take it on, or end it
        elif after is State.IDLE and self._retiring:
            self.state.state = State.CLEARING  # it has yet to hear of that
        self._watcher.changed(self, before)

    def lease_ended(self, message: say.LeaseEnded) -> None:
        """Its task lost its world."""
        if self.state.lease == message.lease:
            self.state.lease = None
            self._end_lease(EndLease(message.lease, message.reason, message.cause))

    def did(self, message: say.Did) -> None:
        """An operation has ended."""
        value, error = message.value, None
        if message.error is not None:
            error = _error(message.error)
        elif message.special:
            try:
                value = unship(value, self._slab, self._note_screen)
            except BadWire as wrong:
                error = wrong
        for waiting in self._awaited.pop((message.lease, message.number), ()):
            settle(waiting, value, error)

    def new_slab(self, slab: SlabReader) -> None:
        """Its results lie in another slab from now on."""
        self._slab = slab

    def stopped(self) -> None:
        """Nothing is left of it."""
        self._end()

    def lost_shard(self, reason: str, *, for_good: bool) -> None:
        """Its shard is gone, and its world with it. ``for_good``: no other shard takes it on."""
        self._say = None
        self._earlier = self.state.generation
        lease, self.state.lease = self.state.lease, None
        if self.state.state is not State.RETIRED:
            self._go(State.CLEARING, reason)
        awaited, self._awaited = self._awaited, {}
        if lease is not None:
            self._end_lease(EndLease(lease, reason))
        for (of, number), waits in awaited.items():
            failed = self._failed(of)
            failed.__cause__ = InputDeliveryUnknown(f"step {number} may or may not have been applied: {reason}")
            for waiting in waits:
                settle(waiting, None, failed)
        if self._retiring or for_good:
            self._wanted = False
            self._end()
            if self.state.state is not State.RETIRED:
                self._go(State.RETIRED, self._retiring or f"failed: {reason}")

    # --- inside --------------------------------------------------------------------------------------------------

    def _tell(self, message: say.Message) -> None:
        if self._say is not None:
            self._say(message)

    def _go(self, after: State, reason: str) -> None:
        before, self.state.state = self.state.state, after
        one = Transition(self._clock(), before, after, reason, self.state.generation, self.state.lease)
        self.state.story.append(one)
        self._watcher.changed(self, before)

    def _end(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _end_lease(self, ended: EndLease) -> None:
        self._ended = ended
        self._watcher.lease_ended(self, ended)

    def _failed(self, lease: str) -> ReplicaFailed:
        return replica_failed(self.number, lease, self.state, self._ended, self.story())

    def _note_screen(self, screen: FastScreen) -> None:
        self._screens.append(weakref.ref(screen))

    def _let_go(self) -> None:
        """Give who holds a screen a copy of it, before its memory is written again."""
        for held in self._screens:
            screen = held()
            if screen is not None:
                screen.detach()
        self._screens.clear()


def _error(wire: Any) -> GymAnythingError:
    error = from_wire(wire)
    cause = wire.get("cause")
    if cause is not None:
        error.__cause__ = from_wire(cause)
    return error
