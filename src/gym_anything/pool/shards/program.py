"""What a shard process does: keeps replicas with their state managers, and tells their pool of them.

It is told by the one end of a pair of sockets that it inherits. When the other end goes, so do its worlds, and then it.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import signal
import socket
from collections.abc import Callable
from typing import Any

from gym_anything.errors import GymAnythingError, StateError
from gym_anything.pool.guard import Verdict
from gym_anything.pool.replica import Replica
from gym_anything.pool.replica_events import EndLease
from gym_anything.pool.replica_state import ReplicaRules, State
from gym_anything.pool.shards import messages as say
from gym_anything.pool.shards.payload import Shipped, ship
from gym_anything.pool.shards.plain_rules import replica_rules_from_plain
from gym_anything.pool.shards.port import MessagePort
from gym_anything.pool.shards.process import SOCKET_FD
from gym_anything.pool.shards.shard_log import ShardLog
from gym_anything.pool.shards.slab import SlabWriter
from gym_anything.pool.shards.source import MakeWorld, WorldSource
from gym_anything.pool.world import ReplicaWorld, Vitals

ALIVE_EVERY_S = 2.0
_END_S = 15.0


class ShippingWorld:
    """A world whose results are made ready for their way in its own replica's thread."""

    def __init__(self, world: ReplicaWorld, slab: SlabWriter) -> None:
        self._world, self._slab = world, slab

    def create(self) -> None:
        """See ``ReplicaWorld``."""
        self._world.create()

    def recycle(self) -> None:
        """See ``ReplicaWorld``."""
        self._world.recycle()

    def probe(self, deep: bool) -> Vitals:
        """See ``ReplicaWorld``."""
        return self._world.probe(deep)

    def perform(self, operation: str, argument: Any) -> Shipped:
        """See ``ReplicaWorld``."""
        return ship(self._world.perform(operation, argument), self._slab)

    def abort(self) -> None:
        """See ``ReplicaWorld``."""
        self._world.abort()

    def destroy(self) -> None:
        """See ``ReplicaWorld``."""
        self._world.destroy()


class Shard:
    """Replicas of one pool. Lives in an event loop; see ``Watcher`` and ``Admission``."""

    def __init__(self, sock: socket.socket) -> None:
        self.over = asyncio.Event()
        self._port = MessagePort(sock, self._take, lambda error: self.over.set())
        self._log = ShardLog(self._port.say, self._episode_of)
        self._replicas: dict[int, Replica] = {}
        self._slabs: dict[int, SlabWriter] = {}
        self._asked: dict[int, Callable[[Verdict], None]] = {}
        self._make_world: MakeWorld | None = None
        self._rules = ReplicaRules()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- what the pool says --------------------------------------------------------------------------------------

    def _take(self, message: say.Message) -> None:
        _TAKES[type(message)](self, message)

    def _open(self, message: say.Open) -> None:
        self._log.begin(message.log_level)
        try:
            self._rules = replica_rules_from_plain(message.rules)
            self._make_world = WorldSource(message.locator, message.arguments).load()
        except GymAnythingError as error:
            self._port.say(say.Opened(error.to_wire()))
            return
        gc.freeze()  # what was loaded stays: nobody need look through it again and again
        self._port.say(say.Opened())

    def _add(self, message: say.Add) -> None:
        make_world = self._make_world
        if make_world is None:
            raise StateError("a replica was wanted of a shard that was not opened")
        number, slab = message.replica, SlabWriter()
        self._slabs[number] = slab

        def make() -> ReplicaWorld:
            return ShippingWorld(make_world(), slab)

        replica = self._replicas[number] = Replica(number, make, self, self, self._rules)
        replica.want()

    def _retire(self, message: say.Retire) -> None:
        self._replicas[message.replica].retire(message.reason)

    def _assign(self, message: say.Assign) -> None:
        replica = self._replicas[message.replica]
        if replica.state.state is State.IDLE:
            replica.assign(message.lease, message.limit_s)
        else:  # it was lost while that was on its way
            reason = replica.state.story[-1].reason
            words = f"lost before it was begun: {reason}"
            self._port.say(say.LeaseEnded(message.replica, message.lease, words, "world"))

    def _beat(self, message: say.Beat) -> None:
        self._replicas[message.replica].heartbeat(message.lease)

    def _release(self, message: say.Release) -> None:
        self._replicas[message.replica].release(message.lease, broken=message.broken)

    def _do(self, message: say.Do) -> None:
        told = functools.partial(self._did, message)
        try:
            self._replicas[message.replica].submit(
                message.lease, message.number, message.operation, message.argument, told
            )
        except GymAnythingError as error:
            told(None, error)

    def _did(self, message: say.Do, value: Shipped | None, error: BaseException | None) -> None:
        fresh = self._slabs[message.replica].take_fresh()
        if fresh is not None:
            self._port.say(say.NewSlab(message.replica), fresh)
        value = value or Shipped("null")
        wire = None if error is None else _wire(error)
        number = message.number
        self._port.say(say.Did(message.replica, message.lease, number, wire, value.special, value.text))

    def _stop(self, message: say.Stop) -> None:
        self._spawn(self._stopped(message.replica))

    async def _stopped(self, number: int) -> None:
        await self._replicas[number].stop()
        del self._replicas[number]
        self._slabs.pop(number).close()
        self._port.say(say.Stopped(number))

    def _answer(self, message: say.Answer) -> None:
        answer = self._asked.pop(message.replica, None)
        if answer is not None:
            answer(Verdict(message.admitted, message.reason, message.retry_after_s))

    # --- what replicas say ---------------------------------------------------------------------------------------

    def changed(self, replica: Replica, before: State) -> None:
        """See ``Watcher``."""
        last = replica.state.story[-1]
        words = (last.before.value, last.after.value, last.reason)
        self._port.say(say.Moved(replica.number, last.at, *words, last.generation, last.lease))

    def measured(self, replica: Replica, memory_mib: float) -> None:
        """See ``Watcher``."""
        self._port.say(say.Measured(replica.number, memory_mib))

    def lease_ended(self, replica: Replica, ended: EndLease) -> None:
        """See ``Watcher``."""
        self._port.say(say.LeaseEnded(replica.number, ended.lease, ended.reason, ended.cause))

    def ask(self, replica: int, *, recovery: bool, answer: Callable[[Verdict], None]) -> None:
        """See ``Admission``: the pool decides for all its shards, since they share one host."""
        self._asked[replica] = answer
        self._port.say(say.Ask(replica, recovery))

    def done(self, replica: int) -> None:
        """See ``Admission``."""
        self._asked.pop(replica, None)
        self._port.say(say.Settled(replica))

    # --- life ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Go on until the pool hangs up; then take everything down."""
        self._tell_alive()
        await self.over.wait()
        ends = [asyncio.create_task(replica.stop()) for replica in self._replicas.values()]
        if ends:
            await asyncio.wait(ends, timeout=_END_S)
        self._log.end()
        self._port.close()

    def _episode_of(self, number: int) -> str | None:
        replica = self._replicas.get(number)
        return None if replica is None else replica.state.lease

    def _tell_alive(self) -> None:
        self._port.say(say.Alive())
        asyncio.get_running_loop().call_later(ALIVE_EVERY_S, self._tell_alive)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _wire(error: BaseException) -> dict[str, Any]:
    if not isinstance(error, GymAnythingError):
        return {"code": "error", "message": f"{type(error).__name__}: {error}"}
    wire = error.to_wire()
    cause = error.__cause__
    if isinstance(cause, GymAnythingError):
        wire["cause"] = cause.to_wire()
    return wire


_TAKES: dict[type[say.Message], Callable[[Shard, Any], None]] = {
    say.Open: Shard._open,
    say.Add: Shard._add,
    say.Retire: Shard._retire,
    say.Assign: Shard._assign,
    say.Beat: Shard._beat,
    say.Release: Shard._release,
    say.Do: Shard._do,
    say.Stop: Shard._stop,
    say.Answer: Shard._answer,
}


def main() -> int:
    """Be a shard. Returns the exit code."""

    async def whole() -> None:
        shard = Shard(socket.socket(fileno=SOCKET_FD))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, shard.over.set)
        await shard.run()

    asyncio.run(whole())
    return 0
