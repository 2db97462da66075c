"""A pool of worlds that only take their time: leases, healing, waiting, ending."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff
from gym_anything.errors import (
    ActionUnsupported,
    CaptureFailed,
    InputNotDelivered,
    NoReplica,
    ReplicaFailed,
    StateError,
    WorldLost,
)
from gym_anything.measure.simulated_world import SimulatedFaults, SimulatedTimes, SimulatedWorld
from gym_anything.pool.guard import GuardRules, HostReading
from gym_anything.pool.pool import Pool, PoolRules
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules, State
from gym_anything.pool.world import Vitals

pytestmark = pytest.mark.real

T = TypeVar("T")
QUICK = SimulatedTimes(create_s=0.002, recycle_s=0.001, step_s=0.002)
ROOMY = HostReading(memory_mib=1e6, available_mib=1e6, cores=64, load=0)
RULES = ReplicaRules(back_off_s=0.001, health=HealthRules(probe_every_s=0.02))
SOON = 10.0


class Made:
    """Makes worlds and keeps them, to look at afterwards."""

    def __init__(self, times: SimulatedTimes = QUICK, **faults: float) -> None:
        self.worlds: list[SimulatedWorld] = []
        self.times, self.faults = times, SimulatedFaults(**faults)
        self._seeds = itertools.count(1)

    def __call__(self) -> SimulatedWorld:
        world = SimulatedWorld(self.times, self.faults, next(self._seeds))
        self.worlds.append(world)
        return world


def soon() -> Deadline:
    return Deadline.after(SOON)


def run(work: Callable[[Pool], Awaitable[T]], made: Made, **rules: object) -> T:
    """Run with a pool, and check that nothing of any world or thread is left."""
    facts = {"least": 2, "most": 2, "retries": Backoff(attempts=11, base_s=0.0001), "replica": RULES, **rules}

    async def whole() -> T:
        async with Pool(made, PoolRules(**facts), read=lambda: ROOMY) as pool:  # type: ignore[arg-type]
            return await work(pool)

    before = set(threading.enumerate())
    result = asyncio.run(whole())
    for thread in set(threading.enumerate()) - before:
        thread.join(SOON)
    assert set(threading.enumerate()) <= before and not any(world.alive for world in made.worlds)
    return result


def test_warm_replicas_are_given_out_and_recycled() -> None:
    made = Made()

    async def work(pool: Pool) -> None:
        await pool.ready(2, soon())
        assert pool.counts()[State.IDLE] == 2
        async with await pool.acquire(soon()) as lease:
            assert (await lease.perform("step", "a"))["step"] == "a"
            assert (await lease.perform("reset"))["applied"] == ["a"]
        first = lease.replica_number
        for _ in range(4):
            async with await pool.acquire(soon()) as lease:
                assert (await lease.perform("reset"))["applied"] == [], "the world was brought back in between"
        assert first in (1, 2) and len(made.worlds) == 2

    run(work, made)


class Doubtful(SimulatedWorld):
    """It notes how it is asked for signs of life, and does what a step says."""

    def __init__(self) -> None:
        super().__init__(QUICK, SimulatedFaults(), 1)
        self.asked: list[bool] = []
        self.goes_on = threading.Event()

    def probe(self, deep: bool) -> Vitals:
        self.asked.append(deep)
        return super().probe(deep)

    def perform(self, operation: str, argument: object) -> object:
        if argument == "blind":
            raise CaptureFailed("no picture")
        if argument == "wrong":
            raise ActionUnsupported("what a policy wants is no fault of its world")
        if argument == "long":
            self.goes_on.wait(SOON)
        return super().perform(operation, argument)

    async def until(self, deep: bool) -> None:
        """Wait for the next such probe."""
        before = len(self.asked)
        while deep not in self.asked[before:]:
            await asyncio.sleep(0.005)


class MadeDoubtful(Made):
    def __call__(self) -> SimulatedWorld:
        self.worlds.append(Doubtful())
        return self.worlds[-1]


def test_a_world_is_asked_more_closely_after_a_failure_and_in_the_midst_of_what_takes_long() -> None:
    made = MadeDoubtful()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            (world,) = made.worlds
            assert isinstance(world, Doubtful)
            with pytest.raises(ActionUnsupported):
                await lease.perform("step", "wrong")
            await world.until(deep=False)
            assert not any(world.asked)
            with pytest.raises(CaptureFailed):
                await lease.perform("step", "blind")
            await world.until(deep=True)
            await world.until(deep=False)
            doing = asyncio.create_task(lease.perform("step", "long"))
            await world.until(deep=True)
            world.goes_on.set()
            await doing
            await world.until(deep=False)

    run(lambda pool: asyncio.wait_for(work(pool), SOON), made, least=1, most=1)


def test_a_lost_world_is_replaced_and_its_task_told() -> None:
    made = Made(lost=1.0)

    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        with pytest.raises(ReplicaFailed, match=r"replica \d is not on this task any more: lost: simulated") as raised:
            await lease.perform("step", "a")
        assert isinstance(raised.value.__cause__, WorldLost) and raised.value.detail["story"]
        assert lease.ended.startswith("lost: ")
        with pytest.raises(ReplicaFailed):
            await lease.perform("step", "b")
        lease.release()
        await pool.ready(2, soon())
        assert len(made.worlds) == 3 and made.worlds[2].alive

    run(work, made)


def test_an_input_that_was_not_applied_says_so_and_the_task_goes_on() -> None:
    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            with pytest.raises(InputNotDelivered):
                await lease.perform("step", "a")
            with pytest.raises(InputNotDelivered):
                await lease.perform("step", "b", Deadline.after(0.0))
            assert (await lease.perform("reset"))["applied"] == []

    run(work, Made(refused=1.0))


def test_what_was_not_applied_is_tried_again_and_applied_once() -> None:
    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            for number in range(30):
                assert (await lease.perform("step", number))["step"] == number
            assert (await lease.perform("reset"))["applied"] == list(range(30))

    run(work, Made(refused=0.3))


def test_operations_of_one_lease_do_not_overtake_each_other() -> None:
    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            results = await asyncio.gather(*(lease.perform("step", number) for number in range(10)))
            assert [result["step"] for result in results] == list(range(10))
            assert (await lease.perform("reset"))["applied"] == list(range(10))

    run(work, Made())


def test_a_world_that_hangs_is_noticed_and_healed_and_no_neighbour_waits() -> None:
    made = Made(hung=1.0)

    async def work(pool: Pool) -> None:
        await pool.ready(2, soon())
        stuck, other = await pool.acquire(soon()), await pool.acquire(soon())
        hanging = asyncio.ensure_future(stuck.perform("step", "a"))
        for _ in range(5):
            await other.perform("reset")
        with pytest.raises(ReplicaFailed, match="hangs"):
            await hanging
        other.release()
        await pool.ready(2, soon())

    health = HealthRules(probe_every_s=0.01, probe_limit_s=0.02, missed_limit=2)
    run(work, made, replica=ReplicaRules(back_off_s=0.001, health=health))


def test_who_waits_gets_the_next_one_and_jobs_take_turns() -> None:
    async def work(pool: Pool) -> list[str]:
        served = []

        async def task(job: str) -> None:
            async with await pool.acquire(soon(), job=job):
                served.append(job)
                await asyncio.sleep(0)

        first = await pool.acquire(soon())
        many = [asyncio.ensure_future(task("many")) for _ in range(6)]
        await asyncio.sleep(0)
        few = [asyncio.ensure_future(task("few")) for _ in range(2)]
        await asyncio.sleep(0)
        first.release()
        await asyncio.gather(*many, *few)
        return served

    served = run(work, Made(), least=1, most=1)
    assert served[:4] == ["many", "few", "many", "few"] and len(served) == 8


def test_no_replica_in_time_says_why() -> None:
    async def work(pool: Pool) -> None:
        await pool.acquire(soon())
        with pytest.raises(NoReplica, match="no replica was free in time; replicas: 1 assigned") as raised:
            await pool.acquire(Deadline.after(0.02))
        assert raised.value.detail["replicas"][0]["lease"] == "1.1"

    run(work, Made(), least=1, most=1)


def test_worlds_that_never_come_up_end_the_waiting_with_the_reason() -> None:
    async def work(pool: Pool) -> None:
        with pytest.raises(NoReplica, match=r"no replica comes up.*simulated: it did not come up"):
            await pool.acquire(soon())

    run(work, Made(create=1.0), least=1)


def test_the_guard_holds_creations_up_and_is_quoted() -> None:
    async def whole() -> None:
        scarce = HostReading(memory_mib=24_000, available_mib=5000, cores=2, load=0)
        guard = GuardRules(retry_after_s=0.005)
        made = Made()
        async with Pool(made, PoolRules(least=1, guard=guard, replica=RULES), read=lambda: scarce) as pool:
            with pytest.raises(NoReplica, match="one more takes 6144 and 2400 must stay free"):
                await pool.ready(1, Deadline.after(0.05))
            scarce = HostReading(memory_mib=24_000, available_mib=20_000, cores=2, load=0)
            await pool.ready(1, soon())
            assert len(made.worlds) == 1

    asyncio.run(whole())


def test_what_worlds_use_is_learnt() -> None:
    async def work(pool: Pool) -> float:
        await pool.ready(2, soon())
        while pool.admission.guard.estimates.of("world") > 1000:
            await asyncio.sleep(0.005)
        return pool.admission.guard.estimates.of("world")

    assert run(work, Made()) == SimulatedWorld.memory_mib


def test_an_elastic_pool_grows_when_it_is_wanted_and_shrinks_when_it_is_not() -> None:
    async def work(pool: Pool) -> None:
        leases = [await pool.acquire(soon()) for _ in range(4)]
        assert len(pool.counts()) == 1 and pool.counts()[State.ASSIGNED] == 4
        for lease in leases:
            lease.release()
        while sum(pool.counts().values()) > 1:
            await asyncio.sleep(0.005)

    run(work, Made(), least=1, most=4, shrink_after_s=0.02)


def test_draining_waits_for_tasks_and_gives_out_no_more() -> None:
    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        draining = asyncio.ensure_future(pool.drain())
        await asyncio.sleep(0.01)
        assert not draining.done()
        with pytest.raises(StateError, match="stops or drains"):
            await pool.acquire(soon())
        await lease.perform("step", "a")
        lease.release()
        await draining

    run(work, Made())


def test_a_silent_owner_loses_its_lease() -> None:
    made = Made()

    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        while not lease.ended:
            await asyncio.sleep(0.005)
        assert lease.ended == "its owner showed no sign of life"
        with pytest.raises(ReplicaFailed):
            await lease.perform("step", "a")
        await pool.ready(2, soon())

    run(work, made, replica=ReplicaRules(lease_s=0.03, health=RULES.health))
    assert len(made.worlds) == 2, "the same world, reset"


def test_a_cancelled_wait_loses_no_replica() -> None:
    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        waiting = [asyncio.ensure_future(pool.acquire(soon())) for _ in range(20)]
        await asyncio.sleep(0)
        lease.release()
        while not any(one.done() for one in waiting):
            await asyncio.sleep(0)
            for one in waiting[::2]:
                one.cancel()
        got = [one.result() for one in waiting if one.done() and not one.cancelled()]
        for one in waiting:
            one.cancel()
        for held in got:
            held.release()
        (await pool.acquire(soon())).release()

    run(work, Made(), least=1, most=1)


@pytest.mark.parametrize(("least", "most"), [(2, 1), (-1, 4), (0, 0)])
def test_a_pool_of_no_size_is_refused(least: int, most: int) -> None:
    with pytest.raises(ValueError, match="least <= most"):
        PoolRules(least=least, most=most)
