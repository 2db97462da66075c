"""No operation is waited for longer than its deadline, also where the world hangs; and what is said then is true."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import DeadlineExceeded, InputDeliveryUnknown, InputNotDelivered
from gym_anything.measure.simulated_world import SimulatedWorld
from gym_anything.pool import data_server
from gym_anything.pool.data_server import DataServer
from gym_anything.pool.pool import Pool, PoolRules
from tests.integration.pool.test_pool import ROOMY, RULES, Made, run, soon

pytestmark = pytest.mark.real

LIMIT_S = 0.15
LATE_S = 5.0


class HangingWorld(SimulatedWorld):
    """Hangs in what has the argument ``hang``, until it is let go; it answers its probes."""

    let_go: threading.Event

    def perform(self, operation: str, argument: Any) -> Any:
        if argument == "hang":
            while not self.let_go.wait(0.01) and not self._aborted.is_set():
                pass
        return super().perform(operation, argument)


class MadeHanging(Made):
    """Makes them."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def __call__(self) -> SimulatedWorld:
        world = HangingWorld(self.times, self.faults, len(self.worlds))
        world.let_go = self.let_go
        self.worlds.append(world)
        return world


def in_time(work: Callable[[], Any]) -> Any:
    began = time.monotonic()
    result = work()
    assert time.monotonic() - began < LATE_S
    return result


def test_an_input_without_an_answer_is_unknown_and_the_next_one_comes_after_it() -> None:
    made = MadeHanging()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            with pytest.raises(
                InputDeliveryUnknown, match=r"may or may not .* 'step' on replica 1 within 0\.1.* s; .*idle"
            ):
                await lease.perform("step", "hang", Deadline.after(LIMIT_S))
            with pytest.raises(InputNotDelivered, match=r"nothing was applied: .* the turn of 'step'"):
                await lease.perform("step", "too early", Deadline.after(LIMIT_S))
            with pytest.raises(DeadlineExceeded, match="the turn of 'evaluate' on replica 1"):
                await lease.perform("evaluate", None, Deadline.after(LIMIT_S))
            made.let_go.set()
            assert (await lease.perform("step", "later", soon()))["step"] == "later"
            assert (await lease.perform("evaluate"))["applied"] == ["hang", "later"]

    run(work, made, least=1, most=1)


def test_who_waits_behind_another_waits_no_longer_than_its_own_deadline() -> None:
    made = MadeHanging()

    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            first = asyncio.ensure_future(lease.perform("step", "hang"))
            await asyncio.sleep(0)
            with pytest.raises(InputNotDelivered, match="nothing was applied"):
                await lease.perform("step", "behind", Deadline.after(LIMIT_S))
            made.let_go.set()
            assert (await first)["step"] == "hang"
            assert (await lease.perform("evaluate"))["applied"] == ["hang"]

    run(work, made, least=1, most=1)


@pytest.mark.parametrize("operation", ["reset", "evaluate"])
def test_what_is_no_input_is_late(operation: str) -> None:
    async def work(pool: Pool) -> None:
        async with await pool.acquire(soon()) as lease:
            with pytest.raises(DeadlineExceeded, match=rf"an answer to '{operation}' on replica 1 within 0\.1"):
                await lease.perform(operation, "hang", Deadline.after(LIMIT_S))

    run(work, MadeHanging(), least=1, most=1)


def test_a_server_answers_in_time_for_worlds_that_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeHanging()

    def pool() -> Pool:
        return Pool(made, PoolRules(least=3, most=3, replica=RULES), read=lambda: ROOMY)

    with DataServer(pool) as server:
        begun = in_time(lambda: server.reset(["a", "hang", "b"], deadline=Deadline.after(1.0)))
        assert [type(reply.error) for reply in begun] == [type(None), DeadlineExceeded, type(None)]
        first, second = begun[0].episode, begun[2].episode
        stepped = in_time(lambda: server.step([(first, "hang"), (second, 1)], deadline=Deadline.after(LIMIT_S)))
        assert isinstance(stepped[0].error, InputDeliveryUnknown) and stepped[1].ok
        judged = in_time(lambda: server.evaluate([first, second], deadline=Deadline.after(LIMIT_S)))
        assert isinstance(judged[0].error, DeadlineExceeded) and judged[1].ok
        monkeypatch.setattr(data_server, "STEP_S", LIMIT_S)
        (unbidden,) = in_time(lambda: server.step([(second, "hang")]))
        assert isinstance(unbidden.error, InputDeliveryUnknown), "a step that names no deadline has one"
        server.close([first, second], broken=True)
        (again,) = server.reset(["c"])
        assert again.ok, "the hung worlds were replaced"
