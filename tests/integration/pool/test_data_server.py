"""The data server over worlds that only take their time: batches, as they come, both faces."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import NoReplica, ReplicaFailed, StateError
from gym_anything.pool.data_server import AsyncDataServer, DataServer, Reply
from gym_anything.pool.pool import Lease, Pool, PoolRules
from tests.integration.pool.test_pool import ROOMY, RULES, SOON, Made, soon

pytestmark = pytest.mark.real

T = TypeVar("T")


def pool_of(made: Made, count: int) -> Pool:
    return Pool(made, PoolRules(least=count, most=count, replica=RULES), read=lambda: ROOMY)


def serve(work: Callable[[AsyncDataServer], Awaitable[T]], made: Made, count: int = 4, queue_limit: int = 64) -> T:
    async def whole() -> T:
        async with AsyncDataServer(pool_of(made, count), queue_limit=queue_limit) as server:
            return await work(server)

    result = asyncio.run(whole())
    assert not any(world.alive for world in made.worlds)
    return result


def test_batches_answer_in_the_order_they_were_asked() -> None:
    async def work(server: AsyncDataServer) -> None:
        begun = await server.reset(["a", "b", "c", "d"])
        assert all(reply.ok and reply.kind == "reset" for reply in begun)
        episodes = [reply.episode for reply in begun]
        assert len(set(episodes)) == 4
        done = await server.step([(episode, number) for number, episode in enumerate(episodes)])
        assert [(reply.episode, reply.value["step"]) for reply in done] == list(zip(episodes, range(4), strict=True))
        judged = await server.evaluate(episodes)
        assert [reply.value["applied"] for reply in judged] == [[0], [1], [2], [3]]
        again = await server.step([(episodes[0], 9)])
        assert again[0].ok, "an evaluation ends nothing"
        closed = await server.close(episodes)
        assert all(reply.ok for reply in closed)
        assert isinstance((await server.close(episodes))[0].error, StateError)

    serve(work, Made())


def test_more_tasks_than_replicas_wait_for_their_turn() -> None:
    async def work(server: AsyncDataServer) -> None:
        async def play(task: int) -> int:
            (begun,) = await server.reset([task])
            (done,) = await server.step([(begun.episode, task)])
            await server.close([begun.episode])
            return int(done.value["step"])

        assert await asyncio.gather(*(play(task) for task in range(20))) == list(range(20))

    serve(work, Made(), count=2)


def test_replies_come_as_they_are_ready_each_with_its_number() -> None:
    async def work(server: AsyncDataServer) -> None:
        episodes = [reply.episode for reply in await server.reset(range(4))]
        sent = {await server.send("step", episode, number): number for number, episode in enumerate(episodes)}
        got: dict[int, int] = {}
        while len(got) < 4:
            for number, reply in await server.recv(10, deadline=soon()):
                got[number] = reply.value["step"]
        assert got == sent
        with pytest.raises(StateError, match="nothing was sent"):
            await server.recv()

    serve(work, Made())


def test_a_policy_that_is_slower_than_its_worlds_is_held_up() -> None:
    async def work(server: AsyncDataServer) -> None:
        (begun,) = await server.reset(["a"])
        for number in range(3):
            await server.send("step", begun.episode, number)
        held = asyncio.ensure_future(server.send("step", begun.episode, 3))
        while len(server._ready) < 3:
            await asyncio.sleep(0.001)
        assert not held.done()
        await server.recv(1)
        await asyncio.wait_for(held, SOON)

    serve(work, Made(), queue_limit=3)


def test_a_crowd_of_resets_holds_up_neither_another_job_nor_an_open_episode() -> None:
    async def answer(server: AsyncDataServer, number: int) -> Reply:
        """Return the reply to this request; those of resets are for nobody here."""
        while True:
            for got, reply in await server.recv(deadline=soon()):
                if got == number:
                    return reply

    async def work(server: AsyncDataServer) -> None:
        (few,) = await server.reset(["a"], job="few")
        (own,) = await server.reset(["b"], job="many")
        for task in range(2):
            await server.send("reset", task, job="many")
        held = asyncio.ensure_future(server.send("reset", 2, job="many"))
        await asyncio.sleep(0.01)
        assert not held.done(), "this job has all the resets out that it may have"
        for episode in (few.episode, own.episode):
            number = await asyncio.wait_for(server.send("step", episode, 1), SOON)
            assert (await answer(server, number)).ok
        await asyncio.wait_for(server.send("reset", "c", job="few"), SOON)
        closed = await asyncio.wait_for(server.send("close", own.episode), SOON)
        assert (await answer(server, closed)).ok
        held.cancel()
        await asyncio.wait([held])

    serve(work, Made(), count=2, queue_limit=2)


def test_each_job_is_held_up_by_its_own_replies() -> None:
    async def work(server: AsyncDataServer) -> None:
        slow, quick = [(await server.reset([job], job=job))[0].episode for job in ("slow", "quick")]
        await server.send("step", slow, 1)
        held = asyncio.ensure_future(server.send("step", slow, 2))
        await asyncio.wait_for(server.send("step", quick, 1), SOON)
        assert not held.done()
        while len(server._ready) < 2:
            await asyncio.sleep(0.001)
        assert len(await server.recv(2)) == 2
        await asyncio.wait_for(held, SOON)
        held = asyncio.ensure_future(server.send("step", slow, 3))
        await asyncio.sleep(0)
        held.cancel()
        await asyncio.wait([held])
        assert (await server.recv(deadline=soon()))[0][1].value["step"] == 2
        assert not server._rooms._rooms, "a job that has nothing out is forgotten"

    serve(work, Made(), count=2, queue_limit=1)


def test_a_failed_world_is_a_reply_and_the_others_go_on() -> None:
    made = Made()

    async def work(server: AsyncDataServer) -> None:
        begun = await server.reset(["a", "b"])
        made.worlds[int(begun[0].episode.partition(".")[0]) - 1]._faults = type(made.faults)(lost=1.0)
        broken, fine = await server.step([(reply.episode, 1) for reply in begun])
        assert isinstance(broken.error, ReplicaFailed) and not broken.ok
        assert fine.value["step"] == 1
        (anew,) = await server.reset(["a"])
        assert anew.ok

    serve(work, made, count=2)


def test_no_replica_in_time_is_a_reply_too() -> None:
    async def work(server: AsyncDataServer) -> None:
        first, second = await server.reset(["a", "b"], deadline=Deadline.after(0.3))
        assert {type(reply.error) for reply in (first, second)} == {type(None), NoReplica}

    serve(work, Made(), count=1)


def test_what_is_given_up_gives_its_place_back() -> None:
    async def work(server: AsyncDataServer) -> None:
        (begun,) = await server.reset(["a"])
        waiting = await server.send("reset", "b")
        assert server.cancel(waiting) and not server.cancel(12345)
        waiting = await asyncio.wait_for(server.send("reset", "c"), SOON)
        await asyncio.sleep(0.01)
        assert server.cancel(waiting)
        await server.close([begun.episode])
        number = await asyncio.wait_for(server.send("reset", "d"), SOON)
        ((got, again),) = await server.recv()
        assert got == number and again.ok

    serve(work, Made(), count=1, queue_limit=1)


def test_who_waits_for_a_reply_that_was_cancelled_waits_no_longer() -> None:
    async def work(server: AsyncDataServer) -> None:
        (begun,) = await server.reset(["a"])
        numbers = [await server.send("reset", task) for task in ("b", "c")]
        waiting = [asyncio.ensure_future(server.recv()) for _ in range(2)]
        await asyncio.sleep(0)
        assert server.cancel(numbers[0])
        await asyncio.sleep(0.01)
        assert not any(one.done() for one in waiting), "another one is out"
        assert server.cancel(numbers[1])
        for one in waiting:
            with pytest.raises(StateError, match="no reply yet"):
                await asyncio.wait_for(one, SOON)
        number = await server.send("step", begun.episode, 1)
        assert [got for got, _ in await server.recv(deadline=soon())] == [number]

    serve(work, Made(), count=1)


def test_without_an_event_loop_a_cancelled_reply_is_not_waited_for_either() -> None:
    with DataServer(lambda: pool_of(Made(), 1)) as server:
        server.reset(["a"])
        number = server.send("reset", "b")
        timer = threading.Timer(0.1, server.cancel, [number])
        timer.start()
        with pytest.raises(StateError, match="no reply yet"):
            server.recv(deadline=soon())
        timer.join()


class Mistaken(Pool):
    """Raises what is no error of ours for one task."""

    async def acquire_for(self, task: Any, deadline: Deadline, *, job: str = "") -> Lease:
        if task == "mistaken":
            raise KeyError("typo")
        return await super().acquire_for(task, deadline, job=job)


def test_a_mistake_is_the_reply_of_its_own_request_and_costs_no_other() -> None:
    async def whole() -> None:
        pool = Mistaken(Made(), PoolRules(least=3, most=3, replica=RULES), read=lambda: ROOMY)
        async with AsyncDataServer(pool) as server:
            numbers = {await server.send("reset", task): task for task in ("a", "mistaken", "b")}
            replies: dict[str, Reply] = {}
            while len(server._ready) < 3:
                await asyncio.sleep(0.001)
            for number, reply in await server.recv(3, deadline=soon()):
                replies[numbers[number]] = reply
            assert replies["a"].ok and replies["b"].ok
            said = replies["mistaken"].error
            assert said is not None and str(said) == "KeyError: 'typo'" and isinstance(said.__cause__, KeyError)
            await server.close([replies["a"].episode, replies["b"].episode])
            fine, wrong = await server.reset(["c", "mistaken"])
            assert fine.ok and isinstance(wrong.error, type(said))

    asyncio.run(whole())


def test_a_batch_that_is_given_up_keeps_no_replica() -> None:
    async def work(server: AsyncDataServer) -> None:
        batch = asyncio.ensure_future(server.reset(["a", "b", "never in time"]))
        while server.pool.status()["counts"] != {"assigned": 2} or len(server._leases) < 2:
            await asyncio.sleep(0.001)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        again = await server.reset(["c", "d"], deadline=soon())
        assert all(reply.ok for reply in again)

    serve(work, Made(), count=2)


def test_without_an_event_loop() -> None:
    made = Made()
    before = set(threading.enumerate())
    with DataServer(lambda: pool_of(made, 3)) as server:
        replies = server.reset(["a", "b", "c"])
        done = server.step([(reply.episode, 1) for reply in replies])
        assert [reply.value["step"] for reply in done] == [1, 1, 1]
        number = server.send("evaluate", replies[0].episode)
        assert server.recv()[0][0] == number
        assert server.status()["counts"] == {"assigned": 3}
        server.close([reply.episode for reply in replies])
    for thread in set(threading.enumerate()) - before:
        thread.join(SOON)
    assert set(threading.enumerate()) <= before and not any(world.alive for world in made.worlds)
    with pytest.raises(StateError, match="with statement"):
        server.reset(["a"])


def test_a_pool_that_cannot_be_made_leaves_no_thread() -> None:
    before = threading.active_count()

    def mistaken() -> Pool:
        raise KeyError("typo")

    with pytest.raises(KeyError), DataServer(mistaken):
        pass
    assert threading.active_count() == before
