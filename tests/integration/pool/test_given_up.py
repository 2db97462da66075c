"""An operation that somebody stops waiting for goes on; the next one is done after it, and never taken for it."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from gym_anything.errors import InputNotDelivered
from gym_anything.measure.simulated_world import SimulatedTimes, SimulatedWorld
from gym_anything.pool.pool import Pool
from tests.integration.pool.test_pool import Made, run, soon

pytestmark = pytest.mark.real


async def give_up(work: asyncio.Task[object]) -> None:
    """Stop waiting for an operation that has begun."""
    for _ in range(5):
        await asyncio.sleep(0)
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work


def test_the_next_operation_is_done_and_not_the_last_ones_answer() -> None:
    made = Made(SimulatedTimes(create_s=0.002, recycle_s=0.001, step_s=0.1, spread=0.0))

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            for number in range(3):
                await give_up(asyncio.create_task(lease.perform("step", f"given up {number}")))
                assert (await lease.perform("step", number))["step"] == number
            applied = (await lease.perform("evaluate"))["applied"]
        assert [one for one in applied if isinstance(one, int)] == [0, 1, 2]
        assert len(applied) == len(set(applied))

    run(work, made, least=1, most=1)


def test_what_was_given_up_and_not_delivered_keeps_its_number() -> None:
    class Refuses(SimulatedWorld):
        def perform(self, operation: str, argument: object) -> object:
            if argument == "refused":
                self._take(0.05)
                raise InputNotDelivered("simulated: not delivered")
            return super().perform(operation, argument)

    class MadeRefusing(Made):
        def __call__(self) -> SimulatedWorld:
            world = Refuses(self.times, self.faults, 1)
            self.worlds.append(world)
            return world

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            await give_up(asyncio.create_task(lease.perform("step", "refused")))
            assert (await lease.perform("step", "b"))["step"] == "b"
            assert (await lease.perform("evaluate"))["applied"] == ["b"]

    run(work, MadeRefusing(), least=1, most=1)
