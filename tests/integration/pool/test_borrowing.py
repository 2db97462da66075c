"""A data server that plays on a pool in another process."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import InputNotDelivered, NoReplica, ReplicaFailed, Unreachable
from gym_anything.pool.data_server import DataServer
from gym_anything.pool.started.asking import ask
from gym_anything.pool.started.borrowing import BorrowedPool
from gym_anything.pool.started.folder import find_pool
from tests.integration.pool.test_started import SOON, call, start
from tests.integration.pool.test_started import state as state

pytestmark = pytest.mark.real


def test_a_data_server_plays_on_a_pool_of_another_process(state: Path) -> None:
    entry = start("-n", "2")
    with DataServer(lambda: BorrowedPool(entry)) as server:
        begun = server.reset(["a", "b"], deadline=Deadline.after(SOON))
        episodes = [reply.episode for reply in begun]
        assert all(reply.ok for reply in begun) and len(set(episodes)) == 2
        for number in range(3):
            done = server.step([(episode, {"n": number}) for episode in episodes])
            assert [reply.value["step"] for reply in done] == [{"n": number}] * 2
        (full,) = server.reset(["c"], deadline=Deadline.after(0.1))
        assert isinstance(full.error, NoReplica) and "no replica was free" in str(full.error)
        assert server.status()["leases"] == 2
        assert [len(reply.value["applied"]) for reply in server.evaluate(episodes)] == [3, 3]
        number = server.send("step", episodes[0], "as they come")
        assert server.recv()[0][0] == number
        server.close(episodes[:1])
        (again,) = server.reset(["d"], deadline=Deadline.after(SOON))
        assert again.ok
    wait_until(
        lambda: ask(entry, "status")["counts"] == {"idle": 2},
        deadline=Deadline.after(SOON),
        awaited="what was borrowed to be given back",
    )
    call("pool", "stop")


def test_what_is_given_up_here_is_given_up_there(state: Path) -> None:
    entry = start()

    async def play() -> None:
        pool = BorrowedPool(entry)
        pool.start()
        try:
            lease = await pool.acquire(Deadline.after(SOON))
            waits = asyncio.create_task(pool.acquire(Deadline.after(SOON)))
            await lease.perform("step", 1)
            waits.cancel()
            await asyncio.gather(waits, return_exceptions=True)
            lease.release()
            lease.release()
            again = await pool.acquire(Deadline.after(SOON))
            assert (await again.perform("evaluate"))["applied"] == []
        finally:
            await pool.stop()

    asyncio.run(play())
    call("pool", "stop")


def test_a_pool_that_is_killed_ends_its_tasks_with_a_word(state: Path) -> None:
    entry = start("--step-s", "60")
    with DataServer(lambda: BorrowedPool(entry)) as server:
        (begun,) = server.reset(["a"], deadline=Deadline.after(SOON))
        server.send("step", begun.episode, "x")
        os.kill(entry.pid, signal.SIGKILL)
        ((_, reply),) = server.recv(deadline=Deadline.after(SOON))
        assert isinstance(reply.error, ReplicaFailed) and not isinstance(reply.error, InputNotDelivered)
        (later,) = server.reset(["b"])
        assert isinstance(later.error, Unreachable)
    wait_until(entry.owner.is_dead, deadline=Deadline.after(SOON), awaited="the end of the pool")
    with pytest.raises(Unreachable), DataServer(lambda: BorrowedPool(entry)):
        pass
    with pytest.raises(LookupError):
        find_pool(None)
