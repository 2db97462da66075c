"""What is tried again and how often: reads after any failure that may pass, inputs only when surely not applied."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff
from gym_anything.errors import (
    CaptureFailed,
    GymAnythingError,
    InputDeliveryUnknown,
    InputNotDelivered,
    ReplicaFailed,
    Unreachable,
    WorldLost,
)
from gym_anything.measure.simulated_world import SimulatedWorld
from gym_anything.pool.environment_choice import READS, EnvironmentChoice, environment_rules
from gym_anything.pool.environment_world import _OPERATIONS
from gym_anything.pool.observer import PoolObserver
from gym_anything.pool.pool import Pool, PoolRules
from tests.integration.pool.test_pool import Made, run, soon
from tests.unit.episode.fake_envs import env_spec

pytestmark = pytest.mark.real


class FailingWorld(SimulatedWorld):
    """Fails as it is told, and counts how often it is asked for each operation."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.asked: list[str] = []
        self.failures: list[Exception] = []

    def perform(self, operation: str, argument: Any) -> Any:
        self.asked.append(operation)
        if self.failures:
            raise self.failures.pop(0)
        return super().perform(operation, argument)


class MadeFailing(Made):
    """Makes them."""

    def __call__(self) -> SimulatedWorld:
        world = FailingWorld(self.times, self.faults, len(self.worlds))
        self.worlds.append(world)
        return world


READING = {"least": 1, "most": 1, "reads": frozenset({"observe"})}


@pytest.mark.parametrize("error", [CaptureFailed("torn"), Unreachable("cut")])
def test_a_read_is_tried_again_ten_times_after_the_first(error: GymAnythingError) -> None:
    made = MadeFailing()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            world = made.worlds[0]
            assert isinstance(world, FailingWorld)
            world.failures = [error] * 10
            assert (await lease.perform("observe", None, soon()))["operation"] == "observe"
            assert world.asked == ["observe"] * 11
            world.asked, world.failures = [], [error] * 11
            with pytest.raises(type(error)):
                await lease.perform("observe", None, soon())
            assert world.asked == ["observe"] * 11
            assert (await lease.perform("step", "on"))["step"] == "on"

    run(work, made, **READING)


def test_the_tries_of_a_read_stay_within_its_deadline() -> None:
    made = MadeFailing()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            world = made.worlds[0]
            assert isinstance(world, FailingWorld)
            world.failures = [CaptureFailed("torn")] * 99
            began = time.monotonic()
            with pytest.raises(CaptureFailed):
                await lease.perform("observe", None, Deadline.after(0.3))
            assert time.monotonic() - began < 0.3 and 2 <= len(world.asked) < 11

    run(work, made, **READING, retries=PoolRules().retries)


@pytest.mark.parametrize("operation", ["step", "evaluate"])
def test_what_may_have_changed_something_is_not_tried_again(operation: str) -> None:
    made = MadeFailing()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            world = made.worlds[0]
            assert isinstance(world, FailingWorld)
            world.failures = [CaptureFailed("torn"), RuntimeError("a bug")]
            with pytest.raises(CaptureFailed):
                await lease.perform(operation, 1)
            with pytest.raises(InputDeliveryUnknown):
                await lease.perform(operation, 1)
            assert world.asked == [operation] * 2

    run(work, made, **READING)


def test_an_input_that_was_surely_not_applied_is_tried_as_often() -> None:
    made = MadeFailing()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            world = made.worlds[0]
            assert isinstance(world, FailingWorld)
            world.failures = [InputNotDelivered("locked")] * 11
            with pytest.raises(InputNotDelivered):
                await lease.perform("step", 1)
            assert world.asked == ["step"] * 11

    run(work, made, **READING)


def test_a_read_of_a_world_that_is_gone_fails_at_once() -> None:
    made = MadeFailing()

    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        world = made.worlds[0]
        assert isinstance(world, FailingWorld)
        world.failures = [WorldLost("gone")]
        with pytest.raises(ReplicaFailed):
            await lease.perform("observe", None, soon())
        assert world.asked == ["observe"]
        lease.release()

    run(work, made, **READING, retries=Backoff(attempts=11, base_s=60.0, max_s=60.0))


def test_further_tries_are_told() -> None:
    told: list[tuple[str, str]] = []

    class Listens(PoolObserver):
        def tried_again(self, lease: str, operation: str, error: Exception) -> None:
            told.append((operation, str(error)))

    made = MadeFailing()

    async def work(pool: Pool) -> None:
        pool.observer = Listens()
        async with await pool.acquire(soon()) as lease:
            world = made.worlds[0]
            assert isinstance(world, FailingWorld)
            world.failures = [CaptureFailed("torn"), CaptureFailed("empty")]
            await lease.perform("observe", None, soon())

    run(work, made, **READING)
    assert told == [("observe", "torn"), ("observe", "empty")]


def test_the_reads_of_environments_are_operations_that_they_know(tmp_path: Path) -> None:
    assert environment_rules(EnvironmentChoice(env_spec(tmp_path)), least=1).reads == READS
    assert set(_OPERATIONS) >= READS and not READS & {"reset", "step", "evaluate", "finish", "copy_to", "log"}
