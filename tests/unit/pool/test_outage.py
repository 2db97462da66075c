"""A pool while nothing comes up, and after it: the real pool, on a clock that jumps from one timer to the next."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import NoReplica, WorldLost
from gym_anything.pool.guard import HostReading
from gym_anything.pool.pool import Pool, PoolRules
from gym_anything.pool.replica_state import State
from gym_anything.pool.replica_thread import Told
from gym_anything.pool.world import Vitals

pytestmark = pytest.mark.unit

T = TypeVar("T")
ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
MINUTE, HOUR = 60.0, 3600.0


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer when nothing else is to be done."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumps(self))

    def time(self) -> float:
        return self.now


class _Jumps(selectors.SelectSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nobody will ever wake this up"
        self._of.now += timeout
        return super().select(0)


class AtOnce:
    """Does what a replica's thread would do, in the next turn of the loop."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()

    def call(self, work: Callable[[], T]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - whoever awaits gets it
            future.set_exception(error)
        return future

    def do(self, work: Callable[[], Any], told: Told) -> None:
        self._loop.call_soon(told, work(), None)

    def end(self) -> None: ...


class Host:
    """Where worlds come up, but for a while; ``creations`` has when each was tried."""

    def __init__(self, began: float, ended: float) -> None:
        self.began, self.ended = began, ended
        self.creations: list[float] = []

    def check(self) -> None:
        if self.began <= asyncio.get_running_loop().time() < self.ended:
            raise WorldLost("no space left on device")

    def make(self) -> HostedWorld:
        return HostedWorld(self)


class HostedWorld:
    """Is there while its host is well."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def create(self) -> None:
        self.host.creations.append(asyncio.get_running_loop().time())
        self.host.check()

    def recycle(self) -> None:
        self.host.check()

    def probe(self, deep: bool) -> Vitals:
        self.host.check()
        return Vitals(10.0)

    def perform(self, operation: str, argument: Any) -> Any: ...

    def abort(self) -> None: ...

    def destroy(self) -> None: ...


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gym_anything.pool.replica.ReplicaThread", AtOnce)


def play(host: Host, work: Callable[[Pool, JumpingLoop], Awaitable[None]], **rules: Any) -> None:
    loops: list[JumpingLoop] = []

    async def whole() -> None:
        loop = loops[0]
        async with Pool(lambda: host.make(), PoolRules(**rules), read=lambda: ROOMY, clock=loop.time) as pool:
            await work(pool, loop)

    def make_loop() -> JumpingLoop:
        loops.append(JumpingLoop())
        return loops[0]

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(whole())


async def up(pool: Pool, count: int) -> None:
    while pool.counts()[State.IDLE] < count:
        pool._changed.clear()
        await pool._changed.wait()


@pytest.mark.parametrize(("lasts_s", "most_s"), [(20.0, 30.0), (MINUTE, 60.0), (HOUR, 130.0)])
def test_a_pool_is_whole_again_soon_after_an_outage_however_long(lasts_s: float, most_s: float) -> None:
    host = Host(100.0, 100.0 + lasts_s)

    async def work(pool: Pool, loop: JumpingLoop) -> None:
        await up(pool, 8)
        await asyncio.sleep(host.began + 4 - loop.now)
        await up(pool, 8)
        assert loop.now <= host.ended + most_s
        assert pool.size == 8
        late = [at for at in host.creations if host.began + 30 <= at < host.ended]
        assert len(late) <= 5 * (lasts_s / 100 + 2), "one is tried now and then"
        async with await pool.acquire(Deadline.never()):
            pass

    play(host, work, least=8, most=8)


def test_who_asks_meanwhile_is_answered_at_once() -> None:
    host = Host(0.0, 5 * MINUTE)

    async def work(pool: Pool, loop: JumpingLoop) -> None:
        with pytest.raises(NoReplica, match=r"no replica comes up.*no space left on device"):
            await pool.acquire(Deadline.never())
        asked = answered = 0.0
        while loop.now < host.ended:
            asked = loop.now
            with pytest.raises(NoReplica, match="no space left"):
                await pool.acquire(Deadline.never())
            answered = max(answered, loop.now - asked)
            await asyncio.sleep(1)
        assert answered == 0.0, "also while one is being tried"
        await up(pool, 2)

    play(host, work, least=2, most=4)


def test_a_replica_that_is_at_work_hinders_no_trial_of_others() -> None:
    host = Host(1.0, MINUTE)

    async def work(pool: Pool, loop: JumpingLoop) -> None:
        await up(pool, 3)
        first = await pool.acquire(Deadline.never())
        host.make = lambda: BadWorld(host)  # type: ignore[method-assign]
        host.check = lambda: None  # type: ignore[method-assign]
        await asyncio.sleep(2)
        for replica in list(pool._idle):
            replica.retire("lost for good")
        seen = set()
        while loop.now < host.ended + 60:
            first.beat()
            await asyncio.sleep(1)
            if 20 < loop.now < host.ended:
                seen.add(pool.size)
                assert pool.wanting == pool.lacking == 0
        assert seen == {1, 2}, "one beside it, now and then"
        assert pool.counts() == {State.ASSIGNED: 1, State.IDLE: 2}

    play(host, work, least=3, most=4)


class BadWorld(HostedWorld):
    """Does not come up while its host is not well."""

    def create(self) -> None:
        Host.check(self.host)


def test_a_pool_that_stops_tries_no_more() -> None:
    host = Host(0.0, float("inf"))

    async def work(pool: Pool, loop: JumpingLoop) -> None:
        await asyncio.sleep(30)
        assert pool._outage.lasts
        tried = len(host.creations)
        await pool.drain()
        await asyncio.sleep(HOUR)
        assert len(host.creations) == tried

    play(host, work, least=2, most=2)
