"""Replicas in processes of their own: the same pool, also when such a process dies, hangs, or never opens."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.json_logs import JsonFormatter, write_json_logs
from gym_anything._util.logs import logger
from gym_anything._util.secrets import Redactor
from gym_anything._util.state_dir import Run
from gym_anything.errors import InputDeliveryUnknown, InputNotDelivered, NoReplica, ReplicaFailed, StateError, WorldLost
from gym_anything.pool.data_server import DataServer
from gym_anything.pool.environment_world import EnvironmentChoice, environment_rules
from gym_anything.pool.guard import HostReading
from gym_anything.pool.pool import Lease, PoolRules
from gym_anything.pool.pool_log import PoolLog
from gym_anything.pool.replica_events import EndLease
from gym_anything.pool.replica_state import ReplicaRules, State
from gym_anything.pool.shards import messages as say
from gym_anything.pool.shards.process import ShardProcess
from gym_anything.pool.shards.remote_replica import RemoteReplica
from gym_anything.pool.shards.shard import ShardRules
from gym_anything.pool.shards.sharded_pool import ShardedPool, shard_count
from gym_anything.pool.shards.source import WorldSource
from gym_anything.pool.task_request import TaskRequest
from gym_anything.pool.tasks import run_task
from gym_anything.pool.world import Vitals
from gym_anything.specs.loading import checked_task
from tests.unit.episode.fake_envs import env_spec, task_spec

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

T = TypeVar("T")
ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
RULES = ReplicaRules(back_off_s=0.01, back_off_max_s=0.05)
LOOKS = ShardRules(back_off_s=0.01, back_off_max_s=0.05, crash_limit=3)
SOON = 60.0


class PlainWorld:
    """Answers at once; tells whose process it is in, and gives pictures."""

    def __init__(self) -> None:
        self.steps = 0

    def create(self) -> None: ...

    def recycle(self) -> None:
        self.steps = 0

    def probe(self, deep: bool) -> Vitals:
        return Vitals(12.5)

    def perform(self, operation: str, argument: Any) -> Any:
        if operation == "raise":
            raise {"lost": WorldLost("gone"), "refused": InputNotDelivered("not now"), "bug": KeyError("x")}[argument]
        if operation == "object":
            return object()
        if operation == "take":
            time.sleep(argument)
        if operation == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if operation == "log":
            return self._log(str(argument))
        self.steps += 1
        picture = np.full((argument or 2, 3, 3), self.steps, np.uint8)
        return {"pid": os.getpid(), "steps": self.steps, "picture": picture, "raw": b"\0\xff", "at": (1, None)}

    def _log(self, text: str) -> None:
        logger("runtime.some_world").info("%s", text, extra={"display": {1: ":1"}})
        logger("runtime.some_world").debug("not at this level")
        try:
            raise WorldLost(text)
        except WorldLost:
            logger("runtime.some_world").exception("it broke")

    def abort(self) -> None: ...

    def destroy(self) -> None: ...


def plain_worlds() -> Callable[[], PlainWorld]:
    return PlainWorld


PLAIN = WorldSource(f"{__name__}:plain_worlds")


def on_shards(work: Callable[[ShardedPool], Awaitable[T]], count: int = 4, shards: int = 2, **changes: Any) -> T:
    async def whole() -> T:
        rules = PoolRules(**{"least": count, "most": count, "replica": RULES, **changes})
        async with ShardedPool(PLAIN, rules, shards=shards, shard_rules=LOOKS, read=lambda: ROOMY) as pool:
            return await work(pool)

    result = asyncio.run(whole())
    assert not Run.current().worlds, "the shards' folders are gone"
    return result


def pids(pool: ShardedPool) -> list[int]:
    return [int(shard["pid"]) for shard in pool.status()["shards"] if shard["pid"]]


def test_replicas_are_spread_over_processes_and_do_as_they_do_in_one() -> None:
    async def work(pool: ShardedPool) -> None:
        await pool.ready(4, Deadline.after(SOON))
        leases = [await pool.acquire(Deadline.after(SOON)) for _ in range(4)]
        answers = await asyncio.gather(*(lease.perform("step", 5) for lease in leases))
        assert sorted({answer["pid"] for answer in answers}) == sorted(pids(pool)) and len(pids(pool)) == 2
        assert os.getpid() not in pids(pool)
        assert answers[0]["raw"] == b"\0\xff" and answers[0]["at"] == [1, None]
        assert pool.admission.guard.estimates.of("world") == 12.5, "what shards measure, the guard learns"
        for lease in leases:
            lease.release()
        await pool.ready(4, Deadline.after(SOON))
        again = await pool.acquire(Deadline.after(SOON))
        assert (await again.perform("step"))["steps"] == 1, "recycled"
        stories = [one["story"] for one in pool.status()["replicas"]]
        assert all("cold -> queued" in story[0] for story in stories)

    on_shards(work)


def test_pictures_are_views_without_a_copy_until_the_next_operation() -> None:
    async def work(pool: ShardedPool) -> None:
        lease = await pool.acquire(Deadline.after(SOON))
        first = (await lease.perform("step", 2))["picture"]
        assert first.shape == (2, 3, 3) and (first == 1).all()
        assert not first.flags.writeable and not first.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 9
        kept = first.copy()
        second = (await lease.perform("step", 2))["picture"]
        assert (second == 2).all() and (first == 2).all(), "the same memory"
        assert (kept == 1).all()
        large = (await lease.perform("step", 40_000))["picture"]  # another slab
        assert large.shape == (40_000, 3, 3) and (large == 3).all() and (second == 2).all()

    on_shards(work, count=1, shards=1)


def test_an_operation_is_waited_for_until_its_deadline_and_the_next_one_comes_after_it() -> None:
    async def work(pool: ShardedPool) -> None:
        lease = await pool.acquire(Deadline.after(SOON))
        with pytest.raises(InputDeliveryUnknown, match="an answer to 'take' on replica 1"):
            await lease.perform("take", 0.5, Deadline.after(0.1))
        assert (await lease.perform("step", None, Deadline.after(SOON)))["steps"] == 2

    on_shards(work, count=1, shards=1)


def test_errors_keep_their_kind_on_the_way() -> None:
    async def work(pool: ShardedPool) -> None:
        lease = await pool.acquire(Deadline.after(SOON))
        with pytest.raises(InputNotDelivered):
            await lease.perform("raise", "refused", Deadline.after(0.2))
        with pytest.raises(StateError, match="cannot be given to another process"):
            await lease.perform("object")
        with pytest.raises(StateError, match="JSON data"):
            await lease.perform("step", b"bytes")
        with pytest.raises(Exception, match="may or may not have been applied") as caught:
            await lease.perform("raise", "bug")
        assert caught.value.code == "input-delivery-unknown"  # type: ignore[attr-defined]
        assert (await lease.perform("step"))["steps"] == 1, "the lease goes on"
        with pytest.raises(ReplicaFailed) as lost:
            await lease.perform("raise", "lost")
        assert isinstance(lost.value.__cause__, WorldLost) and lease.ended.startswith("lost")

    on_shards(work, count=1, shards=1)


def test_a_task_over_its_limit_is_told_so_with_who_has_to_act() -> None:
    async def work(pool: ShardedPool) -> None:
        lease = await pool.acquire(Deadline.after(SOON))
        while not lease.ended:
            pool._changed.clear()
            await pool._changed.wait()
        with pytest.raises(ReplicaFailed, match="it is over its time limit") as over:
            await lease.perform("step")
        assert (over.value.blame, over.value.retryable) == ("policy", False)

    on_shards(work, count=1, shards=1, task_limit_s=0.05)


def test_a_replica_that_is_being_retired_is_lent_to_nobody() -> None:
    async def work(pool: ShardedPool) -> None:
        pool.grow()
        await pool.ready(2, Deadline.after(SOON))
        going, staying = pool._idle
        pool._shrink(going, (len(going.state.story), going.state.story[-1].at))
        assert going.state.state is State.CLEARING
        lease = await pool.acquire(Deadline.after(SOON))
        assert lease.replica_number == staying.number
        assert (await lease.perform("step"))["steps"] == 1

    on_shards(work, count=2, shards=1, least=1)


def test_a_replica_that_is_told_to_go_while_it_comes_up_is_not_idle_for_a_moment() -> None:
    async def work() -> None:
        seen: list[State] = []

        class Watcher:
            def changed(self, replica: RemoteReplica, before: State) -> None:
                seen.append(replica.state.state)

            def measured(self, replica: RemoteReplica, memory_mib: float) -> None: ...

            def lease_ended(self, replica: RemoteReplica, ended: EndLease) -> None: ...

        replica = RemoteReplica(1, Watcher(), RULES, lambda: 0.0)
        replica.connect(lambda message: None)
        replica.moved(say.Moved(1, 0.0, "queued", "creating", "admitted", 1, None))
        replica.retire("drained")
        replica.moved(say.Moved(1, 0.0, "creating", "idle", "created", 1, None))
        assert seen == [State.CREATING, State.CLEARING]
        with pytest.raises(ValueError, match="while clearing"):
            replica.assign("t1")

    asyncio.run(work())


def test_a_shard_that_dies_comes_back_and_its_tasks_are_done_again() -> None:
    async def work(pool: ShardedPool) -> None:
        await pool.ready(4, Deadline.after(SOON))
        killed: list[int] = []

        async def task(lease: Lease) -> int:
            first = (await lease.perform("step"))["pid"]
            if not killed:
                killed.append(first)
                await lease.perform("die")
            return int((await lease.perform("step"))["steps"])

        outcomes = await asyncio.gather(*(run_task(pool, task, Deadline.after(SOON)) for _ in range(4)))
        assert [outcome.result for outcome in outcomes] == [2, 2, 2, 2]
        masked = [attempt for outcome in outcomes for attempt in outcome.attempts if attempt.masked]
        assert masked and all(isinstance(attempt.error, ReplicaFailed) for attempt in masked)
        await pool.ready(4, Deadline.after(SOON))
        assert killed[0] not in pids(pool) and len(pids(pool)) == 2
        told = [line for one in pool.status()["replicas"] for line in one["story"] if "shard" in line]
        assert len(told) == 2, "two replicas lost their shard, two did not"

    on_shards(work)


def test_what_worlds_log_in_shards_is_logged_here_with_its_ids_and_without_secrets() -> None:
    stream, log = io.StringIO(), PoolLog()
    end = write_json_logs(logging.StreamHandler(stream), JsonFormatter(Redactor(["hunter-two"]), log.episode_of))

    async def whole() -> tuple[int, str]:
        rules = PoolRules(least=2, most=2, replica=RULES)
        async with ShardedPool(PLAIN, rules, shards=1, read=lambda: ROOMY, observer=log) as pool:
            lease = await pool.acquire(Deadline.after(SOON))
            await lease.perform("log", "the password is hunter-two")
            lease.release()
            return lease.replica_number, lease.name

    try:
        replica, episode = asyncio.run(whole())
    finally:
        end()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    said, broke = [line for line in lines if line["logger"] == "gym_anything.runtime.some_world"]
    assert (said["level"], said["message"], said["display"]) == ("info", "the password is [secret]", {"1": ":1"})
    assert (broke["level"], broke["message"]) == ("error", "it broke")
    assert "Traceback" in broke["error"] and "[secret]" in broke["error"] and "hunter" not in stream.getvalue()
    assert {(line["replica"], line["episode"]) for line in (said, broke)} == {(replica, episode)}
    assert said["time"] <= broke["time"]


def test_shards_that_could_not_be_started_again_are_once_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ShardProcess.start

    def refused(process: ShardProcess) -> socket.socket:
        raise OSError("no space left on device")

    async def work(pool: ShardedPool) -> None:
        await pool.ready(4, Deadline.after(SOON))
        monkeypatch.setattr(ShardProcess, "start", refused)
        for pid in pids(pool):
            os.kill(pid, signal.SIGKILL)
        while pids(pool) or not pool._outage.lasts:
            pool._changed.clear()
            await pool._changed.wait()
        with pytest.raises(NoReplica, match="no space left on device"):
            await pool.acquire(Deadline.after(SOON))
        monkeypatch.setattr(ShardProcess, "start", real)
        await pool.ready(4, Deadline.after(SOON))
        assert len(pids(pool)) == 2
        assert (await (await pool.acquire(Deadline.after(SOON))).perform("step"))["steps"] == 1

    on_shards(work, try_again_s=0.05, try_again_max_s=0.2)


@pytest.mark.soak
def test_a_shard_that_hangs_is_replaced() -> None:
    async def work(pool: ShardedPool) -> None:
        await pool.ready(2, Deadline.after(SOON))
        lease = await pool.acquire(Deadline.after(SOON))
        stopped = (await lease.perform("step"))["pid"]
        os.kill(stopped, signal.SIGSTOP)
        with pytest.raises(ReplicaFailed, match="said nothing"):
            await lease.perform("step")
        await pool.ready(2, Deadline.after(SOON))
        assert stopped not in pids(pool)

    on_shards(work, count=2, shards=2)


@pytest.mark.soak
def test_a_shard_that_dies_again_and_again_is_given_up_and_its_replicas_go_elsewhere() -> None:
    async def work(pool: ShardedPool) -> None:
        await pool.ready(2, Deadline.after(SOON))
        first = pool.status()["shards"][0]["number"]
        for _ in range(LOOKS.crash_limit):
            await pool.ready(2, Deadline.after(SOON))
            os.kill(next(one["pid"] for one in pool.status()["shards"] if one["number"] == first), signal.SIGKILL)
            while pool.counts()[State.IDLE] == 2:
                pool._changed.clear()
                await pool._changed.wait()
        await pool.ready(2, Deadline.after(SOON))
        shards = {one["number"]: one for one in pool.status()["shards"]}
        assert shards[first]["pid"] is None and len(shards[3 - first]["replicas"]) == 2

    on_shards(work, count=2, shards=2)


@pytest.mark.soak
def test_a_shard_whose_worlds_do_their_work_between_its_deaths_comes_back_each_time() -> None:
    async def work(pool: ShardedPool) -> None:
        for died in range(2 * LOOKS.crash_limit):
            await pool.ready(1, Deadline.after(SOON))
            async with await pool.acquire(Deadline.after(SOON)) as lease:
                await lease.perform("step")
                assert pool.status()["shards"][0]["deaths"] == died
                with pytest.raises(ReplicaFailed):
                    await lease.perform("die")

    on_shards(work, count=1, shards=1)


def test_worlds_that_cannot_be_found_are_told_of_and_nothing_waits() -> None:
    async def whole() -> None:
        source = WorldSource("gym_anything.pool.nowhere:worlds")
        async with ShardedPool(source, PoolRules(least=2, most=2), shards=1, read=lambda: ROOMY) as pool:
            with pytest.raises(NoReplica, match="nowhere"):
                await pool.acquire(Deadline.after(SOON))

    asyncio.run(whole())
    with pytest.raises(ValueError, match="at least one shard"):
        ShardedPool(PLAIN, PoolRules(), shards=0)


@pytest.mark.soak
def test_so_many_are_created_at_a_time() -> None:
    async def work(pool: ShardedPool) -> None:
        await pool.ready(6, Deadline.after(SOON))
        lines = [line.split(" ", 1) for one in pool.status()["replicas"] for line in one["story"]]
        marks = sorted(
            (float(at), +1 if "queued -> creating" in what else -1) for at, what in lines if "creating" in what
        )
        running, most = 0, 0
        for _, change in marks:
            running += change
            most = max(most, running)
        assert most <= 2

    on_shards(work, count=6, shards=2, creating_at_once=1)


def test_shards_die_with_their_owner_however_it_dies(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
sys.path[:] = {sys.path!r}
from tests.integration.pool.test_shards import PLAIN, ROOMY, SOON
from gym_anything._util.deadline import Deadline
from gym_anything.pool.pool import PoolRules
from gym_anything.pool.shards.sharded_pool import ShardedPool

async def main():
    async with ShardedPool(PLAIN, PoolRules(least=2, most=2), shards=2, read=lambda: ROOMY) as pool:
        await pool.ready(2, Deadline.after(SOON))
        print(*(shard["pid"] for shard in pool.status()["shards"]), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    shards = [int(word) for word in owner.stdout.readline().split()]
    assert len(shards) == 2
    descriptors = [os.pidfd_open(pid) for pid in shards]
    owner.kill()
    owner.wait()
    owner.stdout.close()
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], SOON)[0], "a shard outlived its owner"
        os.close(descriptor)


def test_the_data_server_plays_environments_on_shards(tmp_path: Path) -> None:
    choice = EnvironmentChoice(env_spec(tmp_path, runner_options={"time_control": False}), fast_io=True)
    source, rules = WorldSource.of_environments(choice), environment_rules(choice, least=2)
    with DataServer(lambda: ShardedPool(source, rules, shards=2, read=lambda: ROOMY)) as server:
        begun = server.reset([TaskRequest(task=task_spec(id="a@1")), checked_task(task_spec(id="b@1"))[0]])
        assert [reply.value["info"]["task_id"] for reply in begun] == ["a@1", "b@1"]
        screen = begun[0].value["observation"]["screen"]
        before = screen["array"].copy()
        played = server.step([(reply.episode, {"mouse": {"left_click": [9, 9]}}) for reply in begun])
        assert all(reply.ok for reply in played)
        assert (screen["array"] == before).all(), "who still holds a screen has a copy of his own"
        assert (played[0].value["observation"]["screen"]["array"] != before).any()
        assert screen["image"].size == (64, 48)
        server.close([reply.episode for reply in begun])
    assert len(list(tmp_path.glob("artifacts/episode_*/summary.json"))) == 2


def test_as_many_shards_as_the_rule_says() -> None:
    assert shard_count(1024, 2) == 32
    assert shard_count(128, 2) == 4
    assert shard_count(1, 8) == 1
    assert shard_count(64, 8) == 8
