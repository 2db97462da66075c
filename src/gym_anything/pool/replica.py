"""The shell around a replica's state manager: carries out what it wants, and tells it what came of it."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable
from typing import Any

from gym_anything.errors import GymAnythingError, InputDeliveryUnknown, ReplicaFailed, WorldLost
from gym_anything.pool import replica_events as ev
from gym_anything.pool.guard import Verdict
from gym_anything.pool.lease_end import replica_failed
from gym_anything.pool.replica_contract import Admission, Watcher
from gym_anything.pool.replica_state import ReplicaRules, ReplicaState, State
from gym_anything.pool.replica_thread import ReplicaThread, Told, settle
from gym_anything.pool.step_ledger import Known, Run, StepLedger
from gym_anything.pool.world import ReplicaWorld

Clock = Callable[[], float]


class Replica:
    """One replica. Lives in the event loop that it is started in; nothing in it blocks.

    Attributes:
        number: tells it from others of its pool. state: its state manager; read it only.
    """

    def __init__(
        self,
        number: int,
        make_world: Callable[[], ReplicaWorld],
        admission: Admission,
        watcher: Watcher,
        rules: ReplicaRules,
        clock: Clock = time.monotonic,
    ) -> None:
        self.number = number
        self.state = ReplicaState(rules)
        self._make_world = make_world
        self._admission = admission
        self._watcher = watcher
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._thread = ReplicaThread(f"replica {number}")
        self._senses = ReplicaThread(f"replica {number} senses")  # a probe that hangs holds up the next ones only
        self._world: ReplicaWorld | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._beat_at = 0.0
        self._busy_since: float | None = None
        self._moved = asyncio.Event()
        self._ledger: StepLedger[Any] = StepLedger()
        self._awaited: dict[int, list[Told]] = {}
        self._ended: ev.EndLease | None = None

    # --- what a pool wants ---------------------------------------------------------------------------------------

    def want(self) -> None:
        """Have it come up, as soon as there is room."""
        self._feed(ev.Wanted(self._clock()))

    def retire(self, reason: str) -> None:
        """Have it go, once its task is over."""
        self._feed(ev.Retire(self._clock(), reason))

    def assign(self, lease: str, task_limit_s: float | None = None) -> None:
        """Give it to a task. Raises: ValueError when it is not idle."""
        self._beat_at = self._clock()
        self._feed(ev.Assigned(self._beat_at, lease, task_limit_s))
        self._ledger = StepLedger()
        self._awaited = {}

    def heartbeat(self, lease: str) -> None:
        """The owner of a lease is alive. Several within a short time are one."""
        now = self._clock()
        if now - self._beat_at >= self.state.rules.lease_s / 32:
            self._beat_at = now
            self._feed(ev.Heartbeat(now, lease))

    def release(self, lease: str, *, broken: bool = False) -> None:
        """The owner is done with it."""
        self._feed(ev.Released(self._clock(), lease, broken))

    def as_sent(self, argument: Any) -> Any:
        """Return the argument itself: its world is in this process."""
        return argument

    async def perform(self, lease: str, number: int, operation: str, argument: Any) -> Any:
        """Do an operation of a task once, however often it is asked for under its number; return its result.

        Raises: ReplicaFailed when the lease is over, or ends meanwhile; StateError for a number that does not follow;
            what the world raises.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        self.submit(lease, number, operation, argument, functools.partial(settle, future))
        return await future

    def submit(self, lease: str, number: int, operation: str, argument: Any, told: Told) -> None:
        """The same without waiting: ``told`` is called with the result or the error, at once when it is known."""
        self._check_lease(lease)
        self.heartbeat(lease)
        said = self._ledger.begin(number)
        if isinstance(said, Known):
            told(said.result, said.error)
        elif isinstance(said, Run):
            self._awaited[number] = [told]
            self._begin(lease, number, operation, argument)
        else:
            self._awaited[number].append(told)

    def _check_lease(self, lease: str) -> None:
        if self.state.lease != lease:
            raise self._failed(lease)

    def _failed(self, lease: str) -> ReplicaFailed:
        return replica_failed(self.number, lease, self.state, self._ended, self.story())

    def _begin(self, lease: str, number: int, operation: str, argument: Any) -> None:
        """Have it done; write down what became of it, and tell those who wait for it."""
        assert self._world is not None
        world, ledger, generation, awaited = self._world, self._ledger, self.state.generation, self._awaited

        def ended(result: Any, raised: BaseException | None) -> None:
            self._busy_since = None
            self.heartbeat(lease)
            if raised is None:
                ledger.done(number, result)
                _tell(awaited.pop(number), result, None)
                return
            error: GymAnythingError = _as_ours(raised, number)
            ledger.failed(number, error)
            if isinstance(error, WorldLost):
                self._feed(ev.Lost(self._clock(), generation, _words(error)))
            elif error.blame in ("world", "host"):
                self._feed(ev.Doubted(self._clock(), generation))
            if self.state.lease != lease:
                failed = self._failed(lease)
                failed.__cause__ = error
                error = failed
            _tell(awaited.pop(number), None, error)

        self._busy_since = self._clock()
        self._thread.do(lambda: world.perform(operation, argument), ended)

    # --- events and instructions ---------------------------------------------------------------------------------

    def _feed(self, event: ev.Event) -> None:
        before = self.state.state
        for instruction in self.state.handle(event):
            self._carry_out(instruction)
        if self.state.state is not before:
            self._moved.set()
            self._watcher.changed(self, before)
        self._set_timer()

    def _carry_out(self, wish: ev.Instruction) -> None:
        if isinstance(wish, ev.AskAdmission):
            self._loop.call_soon(self._ask_admission)
        elif isinstance(wish, ev.GiveAdmissionBack):
            self._admission.done(self.number)
        elif isinstance(wish, ev.Create):
            self._world = world = self._make_world()
            self._spawn(self._report(world.create, wish.generation, ev.Created, ev.CreateFailed))
        elif isinstance(wish, ev.Reset):
            assert self._world is not None
            self._spawn(self._report(self._world.recycle, wish.generation, ev.ResetDone, ev.ResetFailed))
        elif isinstance(wish, ev.Probe):
            self._spawn(self._probe(wish.generation, wish.deep))
        elif isinstance(wish, ev.Destroy):
            self._spawn(self._destroy(wish.generation))
        elif isinstance(wish, ev.EndLease):
            self._ended = wish
            self._watcher.lease_ended(self, wish)

    def _ask_admission(self) -> None:
        if self.state.state is not State.QUEUED:
            return
        self._admission.ask(self.number, recovery=self.state.generation > 0, answer=self._answered)

    def _answered(self, verdict: Verdict) -> None:
        now = self._clock()
        self._feed(ev.Admitted(now) if verdict.admitted else ev.Refused(now, verdict.reason, verdict.retry_after_s))

    async def _report(
        self,
        work: Callable[[], None],
        generation: int,
        done: type[ev.Created | ev.ResetDone],
        failed: type[ev.CreateFailed | ev.ResetFailed],
    ) -> None:
        try:
            await self._thread.call(work)
        except Exception as error:  # noqa: BLE001 - whatever a world raises: its state manager decides
            self._feed(failed(self._clock(), generation, _words(error)))
        else:
            self._feed(done(self._clock(), generation))
            # at once: others wait to learn how much memory one needs, and what it is later is compared with now
            self._spawn(self._probe(generation, deep=False))

    async def _probe(self, generation: int, deep: bool) -> None:
        world, began, limit_s = self._world, self._clock(), self.state.rules.health.probe_limit_s
        if world is None:
            return
        try:
            vitals = await asyncio.wait_for(self._senses.call(lambda: world.probe(deep)), limit_s)
        except TimeoutError:
            self._feed(ev.ProbeMissed(self._clock(), generation, f"no sign of life within {limit_s:g} s"))
        except WorldLost as error:
            self._feed(ev.Lost(self._clock(), generation, _words(error)))
        except Exception as error:  # noqa: BLE001 - whatever a world raises: its state manager decides
            self._feed(ev.ProbeMissed(self._clock(), generation, _words(error)))
        else:
            now = self._clock()
            if vitals.memory_mib is not None:
                self._watcher.measured(self, vitals.memory_mib)
            self._feed(ev.ProbeAnswered(now, generation, now - began, vitals.memory_mib))

    async def _destroy(self, generation: int) -> None:
        world = self._world
        if world is not None:
            world.abort()  # its own thread may be blocked in it
            await self._thread.call(world.destroy)
        self._world = None
        self._feed(ev.Destroyed(self._clock(), generation))

    def _set_timer(self) -> None:
        due = self.state.due()
        if self._timer is not None:
            if due is not None and due >= self._timer_due:
                return  # what is put off, as leases are all the time, is looked at again when the timer comes
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._loop.call_later(max(0.0, due - self._clock()), self._tick)
            self._timer_due = due

    def _tick(self) -> None:
        self._timer = None
        if self._awaited and self.state.lease is not None:  # who waits for an operation is alive, however long it takes
            self._feed(ev.Heartbeat(self._clock(), self.state.lease))
        now, health = self._clock(), self.state.rules.health
        if self._busy_since is not None and now - self._busy_since >= health.missed_limit * health.probe_every_s:
            self._feed(ev.Doubted(now, self.state.generation))
        self._feed(ev.Tick(now, busy=bool(self._awaited)))

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- reading, ending -----------------------------------------------------------------------------------------

    def story(self) -> list[str]:
        """Return its last transitions as lines to read."""
        return [f"{one.at:.3f} {one.before.value} -> {one.after.value}: {one.reason}" for one in self.state.story]

    async def stop(self) -> None:
        """Retire it now, whatever it does; return when nothing of its world is left, or nothing more can be done."""
        self.retire("stopped")
        if self.state.lease is not None:
            self.release(self.state.lease)
        if self._world is not None:
            self._world.abort()
        while self.state.state is not State.RETIRED:
            self._moved.clear()
            await self._moved.wait()  # its limits of time see to it that this ends
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()  # waits for a thread that hangs
        self._thread.end()
        self._senses.end()


def _tell(waiting: list[Told], result: Any, error: BaseException | None) -> None:
    for told in waiting:
        told(result, error)


def _as_ours(error: BaseException, number: int) -> GymAnythingError:
    """Return an error of ours: after a world's own fault nobody knows what became of the step."""
    if isinstance(error, GymAnythingError):
        return error
    unknown = InputDeliveryUnknown(f"step {number} may or may not have been applied: {_words(error)}")
    unknown.__cause__ = error
    return unknown


def _words(error: BaseException) -> str:
    text = str(error)
    return text if isinstance(error, GymAnythingError) and text else f"{type(error).__name__}: {text}"
