"""Tasks on a pool that fails: tried again on another replica, nothing applied twice, nothing left."""

from __future__ import annotations

import asyncio
import collections
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import AgentError, GymAnythingError, ReplicaFailed, VerifierError, WorldLost
from gym_anything.measure.simulated_world import SimulatedTimes
from gym_anything.pool.data_server import AsyncDataServer
from gym_anything.pool.heartbeats import Heartbeats
from gym_anything.pool.pool import Lease, Pool
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules, State
from gym_anything.pool.tasks import Attempt, TaskOutcome, run_task
from tests.integration.pool.test_pool import Made, run, soon

pytestmark = pytest.mark.real

TASKS = 400
Applied = list[tuple[str, int]]


async def three_steps(lease: Lease) -> Applied:
    for number in range(3):
        await lease.perform("step", (lease.name, number))
    return list((await lease.perform("reset"))["applied"])


def test_a_task_whose_world_is_lost_begins_anew_on_another_replica() -> None:
    made = Made(lost=1.0)

    async def work(pool: Pool) -> TaskOutcome[Applied]:
        await pool.ready(2, soon())
        broken = made.worlds[:]
        made.faults = type(made.faults)()
        outcome = await run_task(pool, three_steps, soon(), retries=2)
        assert len(broken) == 2
        return outcome

    outcome = run(work, made)
    assert outcome.result is not None and len(outcome.result) == 3
    *failed, last = outcome.attempts
    assert failed and all(
        isinstance(one.error, ReplicaFailed) and one.masked and one.blame == "world" for one in failed
    )
    assert last.error is None and not last.masked and last.replica != failed[-1].replica


def test_tries_are_bounded_and_kept() -> None:
    async def work(pool: Pool) -> TaskOutcome[Applied]:
        return await run_task(pool, three_steps, soon(), retries=2)

    outcome = run(work, Made(lost=1.0))
    assert outcome.result is None and len(outcome.attempts) == 3 and isinstance(outcome.error, ReplicaFailed)


@pytest.mark.parametrize(
    ("error", "blame", "masked"),
    [
        (AgentError("no words"), "policy", False),
        (VerifierError("no verdict"), "judge", True),
        (WorldLost("gone"), "world", True),
    ],
)
def test_only_what_the_world_or_host_did_is_tried_again(error: GymAnythingError, blame: str, masked: bool) -> None:
    async def work(pool: Pool) -> TaskOutcome[None]:
        async def fail(lease: Lease) -> None:
            raise error

        return await run_task(pool, fail, soon(), retries=1)

    outcome = run(work, Made())
    assert (outcome.attempts[0].blame, outcome.attempts[0].masked) == (blame, masked)
    assert len(outcome.attempts) == (2 if blame == "world" else 1)


def test_a_programming_mistake_is_raised_and_the_replica_given_back() -> None:
    async def work(pool: Pool) -> None:
        async def mistaken(lease: Lease) -> None:
            raise KeyError("typo")

        for _ in range(4):
            with pytest.raises(KeyError):
                await run_task(pool, mistaken, soon())

    run(work, Made())


@pytest.mark.parametrize(
    ("rules", "step_s", "blame", "masked", "reason"),
    [
        ({"task_limit_s": 0.05}, 600.0, "policy", False, "it is over its time limit"),
        ({"replica": ReplicaRules(lease_s=0.03)}, 0.0, "caller", True, "its owner showed no sign of life"),
    ],
)
def test_a_task_that_was_ended_is_not_played_again_and_has_one_blame_everywhere(
    rules: dict[str, Any], step_s: float, blame: str, masked: bool, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Heartbeats, "_set_timer", lambda beats: None)  # as of an owner that stands still

    async def work(pool: Pool) -> None:
        async def wait(lease: Lease) -> None:
            if not step_s:
                while not lease.ended:
                    pool._changed.clear()
                    await pool._changed.wait()
            await lease.perform("step")

        outcome = await run_task(pool, wait, soon())
        (attempt,) = outcome.attempts
        assert (attempt.blame, attempt.masked) == (blame, masked) and reason in str(attempt.error)
        assert isinstance(attempt.error, ReplicaFailed)
        assert (attempt.error.blame, attempt.error.retryable) == (blame, False)

        server = AsyncDataServer(pool)
        (begun,) = await server.reset(["one"])
        if not step_s:
            while pool.counts()[State.ASSIGNED]:
                pool._changed.clear()
                await pool._changed.wait()
        (reply,) = await server.step([(begun.episode, "a")])
        assert isinstance(reply.error, ReplicaFailed) and (reply.error.blame, reply.error.retryable) == (blame, False)
        await server.close([begun.episode])

    run(work, Made(SimulatedTimes(0.002, 0.001, step_s)), **rules)


def test_an_episode_whose_begin_takes_too_long_is_not_begun_again() -> None:
    made = Made()

    async def work(pool: Pool) -> None:
        await pool.ready(2, soon())
        for world in made.worlds:
            world.perform = lambda operation, argument, world=world: world._take(600.0)  # type: ignore[misc,method-assign]
        (reply,) = await AsyncDataServer(pool).reset(["one"])
        assert isinstance(reply.error, ReplicaFailed) and reply.error.blame == "policy"

    run(work, made, task_limit_s=0.05)
    assert len(made.worlds) <= 3, "the one that was aborted and the one in its place"


def test_an_attempt_that_went_through_is_a_sample() -> None:
    assert not Attempt(1).masked and Attempt(1).blame is None


@pytest.mark.slow
def test_tasks_in_chaos_lose_nothing_and_apply_nothing_twice() -> None:
    """Worlds that fail to come up, go in the middle of steps, hang, refuse, do not come back."""
    made = Made(create=0.05, lost=0.02, hung=0.005, refused=0.05, recycle=0.05)

    async def work(pool: Pool) -> list[TaskOutcome[Applied]]:
        in_time = Deadline.after(100)
        tasks = [run_task(pool, three_steps, in_time, job=str(number % 3), retries=20) for number in range(TASKS)]
        return list(await asyncio.gather(*tasks))

    health = HealthRules(probe_every_s=0.05, probe_limit_s=0.2, missed_limit=2)
    rules = ReplicaRules(back_off_s=0.001, crash_limit=50, health=health)
    outcomes = run(work, made, least=32, most=32, replica=rules)
    assert len(outcomes) == TASKS and all(outcome.result is not None for outcome in outcomes)
    assert sum(len(outcome.attempts) - 1 for outcome in outcomes) > 20, "faults there were"
    for outcome in outcomes:
        steps = collections.Counter(outcome.result or [])
        assert len(steps) == 3 and set(steps.values()) == {1} and [number for _, number in steps] == [0, 1, 2]
