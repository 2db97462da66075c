"""One shard, as its pool sees it: its process, what it says, its death and its next life."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import BadWire, GymAnythingError, from_wire
from gym_anything.pool.guard import Verdict
from gym_anything.pool.replica_contract import Admission, Watcher
from gym_anything.pool.replica_state import ReplicaRules
from gym_anything.pool.replica_thread import ReplicaThread
from gym_anything.pool.shards import messages as say
from gym_anything.pool.shards.plain_rules import replica_rules_to_plain
from gym_anything.pool.shards.port import MessagePort
from gym_anything.pool.shards.process import ShardProcess
from gym_anything.pool.shards.remote_replica import RemoteReplica
from gym_anything.pool.shards.shard_log import log_here, package_level
from gym_anything.pool.shards.slab import SlabReader
from gym_anything.pool.shards.source import WorldSource

_END_S = 30.0


@dataclass(frozen=True, slots=True)
class ShardRules:
    """How patient a pool is with its shards.

    Attributes:
        look_every_s: how often it is looked whether a shard has said something; each says so every two seconds.
        silent_limit: so many looks in a row without a word mean that it hangs. start_limit_s: how long it may take
            until its first word.
        back_off_s, back_off_max_s: the first pause before another process, doubled with each further one; the longest.
        crash_limit, crash_window_s: so many deaths within so long, none of its replicas having done anything between
            them, and there is no other one.
    """

    look_every_s: float = 2.5
    silent_limit: int = 4
    start_limit_s: float = 120.0
    back_off_s: float = 0.1
    back_off_max_s: float = 10.0
    crash_limit: int = 5
    crash_window_s: float = 600.0


class Shard:
    """Keeps a process going, and passes on what it says. Lives in the pool's event loop.

    Attributes:
        replicas: those it has. gone: why there is no process any more, for good; "" while there is one, or will be.
    """

    def __init__(
        self,
        number: int,
        source: WorldSource,
        replica_rules: ReplicaRules,
        rules: ShardRules,
        admission: Admission,
        watcher: Watcher,
        clock: Callable[[], float],
    ) -> None:
        self.number = number
        self.replicas: dict[int, RemoteReplica] = {}
        self.gone = ""
        self._source, self._replica_rules, self._rules = source, replica_rules, rules
        self._admission, self._watcher, self._clock = admission, watcher, clock
        self._process: ShardProcess | None = None
        self._port: MessagePort | None = None
        self._thread = ReplicaThread(f"shard {number}")
        self._deaths: deque[float] = deque(maxlen=rules.crash_limit)
        self._died = 0
        self._timer: asyncio.TimerHandle | None = None
        self._heard, self._silent = True, 0
        self._opened = self._closing = False
        self._ends: set[asyncio.Task[None]] = set()

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start its process; its replicas are told to it as soon as it is open. Raises: ProcessStartFailed."""
        process = self._process = ShardProcess(self.number)
        try:
            sock = process.start()
        except BaseException:
            self._process = None
            process.place.remove()
            raise
        self._opened, self._heard, self._silent = False, True, 0
        self._port = MessagePort(sock, self._take, self._hung_up)
        rules = replica_rules_to_plain(self._replica_rules)
        self._port.say(say.Open(self._source.locator, self._source.arguments, rules, package_level()))
        self._timer = asyncio.get_running_loop().call_later(self._rules.look_every_s, self._look)

    def add(self, replica: RemoteReplica) -> None:
        """Have it here."""
        self.replicas[replica.number] = replica
        if self.gone:
            asyncio.get_running_loop().call_soon(self._refuse, replica)
        elif self._opened and self._port is not None:
            replica.connect(self._port.say)

    def begin_anew(self) -> None:
        """Have another process where there was to be none: what ended the others may be over. Blocks as ``start``."""
        if self.gone and self._process is None and not self._ends and not self._closing:
            self.gone = ""
            self._deaths.clear()
            self._start_again()

    async def stop(self) -> None:
        """End the process. Its replicas were stopped before."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._port is not None:
            self._port.close()
        process, self._process = self._process, None
        if process is not None:
            await self._thread.call(lambda: process.end(Deadline.after(_END_S)))
        await asyncio.gather(*self._ends)
        self._thread.end()

    def status(self) -> dict[str, Any]:
        """Return plain data."""
        pid = None if self._process is None else self._process.pid
        return {"number": self.number, "pid": pid, "replicas": sorted(self.replicas), "deaths": self._died}

    # --- what goes wrong -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """A shard that says nothing for long hangs; a stall of our own counts once."""
        self._silent = 0 if self._heard else self._silent + 1
        self._heard = False
        silent_s = self._silent * self._rules.look_every_s
        if silent_s > self._rules.start_limit_s or (self._opened and self._silent >= self._rules.silent_limit):
            self._lost(f"shard {self.number} said nothing for {silent_s:g} s")
        else:
            self._timer = asyncio.get_running_loop().call_later(self._rules.look_every_s, self._look)

    def _hung_up(self, error: Exception | None) -> None:
        words = f"shard {self.number} ended" + (f": {error}" if error is not None else "")
        self._lost(words)

    def _lost(self, reason: str) -> None:
        """Its worlds go with it; what is left of the process is removed before there is another one."""
        if self._closing or self._process is None:
            return
        process, self._process = self._process, None
        if self._port is not None:
            self._port.close()
        if self._timer is not None:
            self._timer.cancel()
        tail = process.log_tail()
        reason = f"{reason}; the end of its log:\n{tail}" if tail else reason
        now = self._clock()
        self._deaths.append(now)
        self._died += 1
        full = len(self._deaths) == self._rules.crash_limit
        if full and now - self._deaths[0] < self._rules.crash_window_s:
            self.gone = f"{self._rules.crash_limit} times, the last time: {reason}"
        self._drop_replicas(reason)
        task = asyncio.get_running_loop().create_task(self._bury(process))
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    def _drop_replicas(self, reason: str) -> None:
        for number in list(self.replicas):
            self._admission.done(number)
            self.replicas[number].lost_shard(reason, for_good=bool(self.gone))
        if self.gone:
            self.replicas.clear()

    async def _bury(self, process: ShardProcess) -> None:
        await self._thread.call(process.kill)
        await self._thread.call(lambda: process.end(Deadline.after(_END_S)))
        if self.gone or self._closing:
            return
        pause = min(self._rules.back_off_s * 2 ** (len(self._deaths) - 1), self._rules.back_off_max_s)
        self._timer = asyncio.get_running_loop().call_later(pause, self._start_again)

    def _start_again(self) -> None:
        if self._closing:
            return
        try:
            self.start()
        except (GymAnythingError, OSError) as error:
            self.gone = f"shard {self.number} cannot be started again: {error}"
            self._drop_replicas(self.gone)

    def _refuse(self, replica: RemoteReplica) -> None:
        replica.lost_shard(self.gone, for_good=True)
        self.replicas.pop(replica.number, None)

    # --- what it says --------------------------------------------------------------------------------------------

    def _take(self, message: say.Message) -> None:
        self._heard = True
        _TAKES[type(message)](self, message)

    def _alive(self, message: say.Alive) -> None:
        pass

    def _logged(self, message: say.Logged) -> None:
        log_here(message)

    def _on_opened(self, message: say.Opened) -> None:
        if message.error is not None:
            self.gone = str(from_wire(message.error))
            self._drop_replicas(self.gone)
            return
        assert self._port is not None
        self._opened = True
        self.replicas = {number: one for number, one in self.replicas.items() if not one.ended}
        for replica in list(self.replicas.values()):
            replica.connect(self._port.say)

    def _moved(self, message: say.Moved) -> None:
        replica = self.replicas.get(message.replica)
        if replica is not None:
            replica.moved(message)

    def _measured(self, message: say.Measured) -> None:
        replica = self.replicas.get(message.replica)
        if replica is not None:
            self._watcher.measured(replica, message.memory_mib)

    def _lease_ended(self, message: say.LeaseEnded) -> None:
        replica = self.replicas.get(message.replica)
        if replica is not None:
            replica.lease_ended(message)

    def _did(self, message: say.Did) -> None:
        self._deaths.clear()  # it is of use: what ends it later is no crash loop
        replica = self.replicas.get(message.replica)
        if replica is not None:
            replica.did(message)

    def _new_slab(self, message: say.NewSlab) -> None:
        assert self._port is not None
        if not self._port.fds:
            raise BadWire("a slab came without its descriptor")
        slab = SlabReader(self._port.fds.popleft())
        replica = self.replicas.get(message.replica)
        if replica is not None:
            replica.new_slab(slab)

    def _ask(self, message: say.Ask) -> None:
        replica, port = self.replicas.get(message.replica), self._port
        if replica is None or port is None:
            return

        def answer(verdict: Verdict) -> None:
            port.say(say.Answer(message.replica, verdict.admitted, verdict.reason, verdict.retry_after_s))

        recovery = message.recovery or replica.state.generation > 0
        self._admission.ask(message.replica, recovery=recovery, answer=answer)

    def _settled(self, message: say.Settled) -> None:
        self._admission.done(message.replica)

    def _stopped(self, message: say.Stopped) -> None:
        replica = self.replicas.pop(message.replica, None)
        if replica is not None:
            replica.stopped()


_TAKES: dict[type[say.Message], Callable[[Shard, Any], None]] = {
    say.Alive: Shard._alive,
    say.Logged: Shard._logged,
    say.Opened: Shard._on_opened,
    say.Moved: Shard._moved,
    say.Measured: Shard._measured,
    say.LeaseEnded: Shard._lease_ended,
    say.Did: Shard._did,
    say.NewSlab: Shard._new_slab,
    say.Ask: Shard._ask,
    say.Settled: Shard._settled,
    say.Stopped: Shard._stopped,
}
