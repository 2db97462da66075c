"""A policy that thinks for long keeps what it plays on; an owner that is gone loses it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gym_anything._util.labels import Owner
from gym_anything._util.waiting import wait_until
from gym_anything.errors import ReplicaFailed
from gym_anything.pool.data_server import DataServer
from gym_anything.pool.heartbeats import Heartbeats
from gym_anything.pool.pool import Lease, Pool, PoolRules
from gym_anything.pool.replica_state import ReplicaRules
from gym_anything.pool.started.asking import Asking
from gym_anything.pool.started.borrowing import BorrowedPool
from gym_anything.pool.started.control import ControlServer
from gym_anything.pool.started.folder import PoolEntry
from gym_anything.pool.tasks import run_task
from tests.integration.pool.test_pool import ROOMY, RULES, Made, run, soon

pytestmark = pytest.mark.real

LEASE_S = 0.2
THINKS_S = 0.7
SHORT = ReplicaRules(lease_s=LEASE_S, back_off_s=0.001, health=RULES.health)


def pool_of(made: Made, count: int = 2) -> Pool:
    return Pool(made, PoolRules(least=count, most=count, replica=SHORT), read=lambda: ROOMY)


def test_a_data_server_keeps_its_episodes_while_the_policy_thinks() -> None:
    with DataServer(lambda: pool_of(Made())) as server:
        episodes = [reply.episode for reply in server.reset(["a", "b"])]
        server.step([(episode, "before") for episode in episodes])
        time.sleep(THINKS_S)
        server.step([(episode, "after") for episode in episodes])
        judged = server.evaluate(episodes)
        assert [reply.value["applied"] for reply in judged] == [["before", "after"]] * 2
        server.close(episodes[:1])
        time.sleep(THINKS_S)
        assert server.step([(episodes[1], "later")])[0].ok
        assert server.status()["counts"] == {"idle": 1, "assigned": 1}


def test_a_task_keeps_its_lease_while_it_thinks() -> None:
    async def work(pool: Pool) -> None:
        async def think(lease: Lease) -> int:
            await lease.perform("step", 1)
            await asyncio.sleep(THINKS_S)
            return len((await lease.perform("evaluate"))["applied"])

        outcome = await run_task(pool, think, soon())
        assert outcome.error is None and outcome.result == 1 and len(outcome.attempts) == 1

    run(work, Made(), replica=SHORT)


def test_a_lease_that_is_over_is_beaten_for_in_vain() -> None:
    async def work(pool: Pool) -> None:
        lease = await pool.acquire(soon())
        beats = Heartbeats()
        beats.hold(lease)
        lease.release()
        await asyncio.sleep(LEASE_S)
        beats.let_go(lease)
        beats.let_go(lease)
        silent = await pool.acquire(soon())
        while not silent.ended:
            await asyncio.sleep(0.01)
        assert silent.ended == "its owner showed no sign of life"

    run(work, Made(), replica=SHORT)


class Counted:
    """A lease that counts how often it is beaten for."""

    replica_number = 1

    def __init__(self, name: str, lease_s: float) -> None:
        self.name, self.lease_s, self.beats = name, lease_s, 0

    async def perform(self, operation: str, argument: object = None, deadline: object = None) -> None: ...

    def beat(self) -> None:
        self.beats += 1

    def release(self, *, broken: bool = False) -> None: ...


def test_one_timer_serves_all_and_follows_the_most_impatient() -> None:
    async def work() -> None:
        beats, patient, impatient = Heartbeats(), Counted("a", 1000.0), Counted("b", 0.02)
        beats.hold(patient)
        beats.hold(impatient)
        while impatient.beats < 3:
            await asyncio.sleep(0.001)
        assert patient.beats == 3
        beats.let_go(impatient)
        left = impatient.beats
        await asyncio.sleep(0.03)
        assert impatient.beats == left and patient.beats <= left + 1
        beats.stop()

    asyncio.run(work())


@contextmanager
def served(folder: Path) -> Iterator[PoolEntry]:
    """A pool with short leases behind its control socket, in a thread of its own."""
    (folder / "token").write_text("known to both", encoding="ascii")
    entry = PoolEntry("short", folder, "a run", Owner.current(), folder / "control")
    loop = asyncio.new_event_loop()
    up, end = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with pool_of(Made()) as pool:

            async def status(_: object) -> object:
                return pool.status()

            control = ControlServer(pool, entry.token, {"status": status})
            await control.listen(entry.socket)
            up.set()
            await end.wait()
            await control.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert up.wait(10)
    try:
        yield entry
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


def test_what_is_borrowed_stays_so_while_the_borrower_thinks_and_is_lost_when_it_stands_still(tmp_path: Path) -> None:
    async def play(entry: PoolEntry) -> None:
        pool = BorrowedPool(entry)
        pool.start()
        try:
            lease = await pool.acquire(soon())
            assert lease.lease_s == LEASE_S
            await lease.perform("step", 1)
            await asyncio.sleep(THINKS_S)
            assert (await lease.perform("evaluate"))["applied"] == [1]
            time.sleep(THINKS_S)  # as a process that was stopped: the connection is there, nobody answers for it
            with pytest.raises(ReplicaFailed, match="not on this task"):
                await lease.perform("step", 2)
        finally:
            await pool.stop()

    with served(tmp_path) as entry:
        asyncio.run(play(entry))


def test_a_data_server_on_a_borrowed_pool_keeps_its_episodes(tmp_path: Path) -> None:
    with served(tmp_path) as entry, DataServer(lambda: BorrowedPool(entry)) as server:
        (begun,) = server.reset(["a"])
        time.sleep(THINKS_S)
        assert server.step([(begun.episode, 1)])[0].ok


def test_a_borrower_that_never_beats_loses_its_lease(tmp_path: Path) -> None:
    with served(tmp_path) as entry, Asking(entry) as silent, Asking(entry) as other:
        silent.ask("acquire", within_s=10)
        assert sum(one["lease"] is not None for one in other.ask("status")["replicas"]) == 1
        wait_until(
            lambda: all(one["lease"] is None for one in other.ask("status")["replicas"]),
            deadline=soon(),
            awaited="the lease to be reclaimed",
        )
