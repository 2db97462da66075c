"""What a pool does by itself: worlds that grow are replaced, tasks over their limit ended, outages outlived."""

from __future__ import annotations

import itertools

import pytest

from gym_anything.errors import Aborted, NoReplica, ReplicaFailed
from gym_anything.measure.simulated_world import SimulatedFaults, SimulatedTimes, SimulatedWorld
from gym_anything.pool.pool import Pool
from gym_anything.pool.replica_state import ReplicaRules, State
from gym_anything.pool.world import Vitals
from tests.integration.pool.test_pool import Made, run, soon

pytestmark = pytest.mark.real


class Growing(Made):
    """The first world takes ten times the memory once it was looked at."""

    def __call__(self) -> SimulatedWorld:
        world = super().__call__()
        if len(self.worlds) == 1:
            looks = itertools.count()
            world.probe = lambda deep: Vitals(40.0 if next(looks) == 0 else 400.0)  # type: ignore[method-assign]
        return world


def test_what_a_world_takes_at_first_is_what_its_growth_is_measured_by() -> None:
    made = Growing()

    async def work(pool: Pool) -> None:
        while len(made.worlds) < 2:
            pool._changed.clear()
            await pool._changed.wait()
        await pool.ready(1, soon())
        why = [line for one in pool.status()["replicas"] for line in one["story"] if State.CLEARING.value in line]
        assert "drifting: it uses 400 MiB, at first 40" in why[0]

    run(work, made, least=1, most=1)


def test_a_pool_that_had_nothing_left_is_whole_again_once_worlds_come_up() -> None:
    made = Made()

    async def work(pool: Pool) -> None:
        await pool.ready(4, soon())
        made.faults = SimulatedFaults(create=1.0)
        with pytest.raises(NoReplica, match="it did not come up"):
            while True:
                (await pool.acquire(soon())).release(broken=True)
        tried = len(made.worlds)
        while len(made.worlds) < tried + 12:  # more than one replica tries before it is retired
            pool._changed.clear()
            await pool._changed.wait()
        made.faults = SimulatedFaults()
        await pool.ready(4, soon())
        assert pool.size == 4
        leases = [await pool.acquire(soon()) for _ in range(4)]
        for lease in leases:
            assert (await lease.perform("step", "a"))["step"] == "a"
            lease.release()

    run(work, made, least=4, most=4, try_again_s=0.01, try_again_max_s=0.05)


def test_what_a_task_over_its_limit_is_doing_is_aborted_and_its_replica_is_back_soon() -> None:
    made = Made(SimulatedTimes(create_s=0.002, recycle_s=0.001, step_s=600.0))

    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        with pytest.raises(ReplicaFailed, match=r"is not on this task any more") as raised:
            await lease.perform("step", "a")
        assert isinstance(raised.value.__cause__, Aborted) and lease.ended == "it is over its time limit"
        (await pool.acquire(soon())).release()

    run(work, made, least=1, most=1, task_limit_s=0.05, replica=ReplicaRules(reset_limit_s=600.0))
    assert len(made.worlds) == 2
