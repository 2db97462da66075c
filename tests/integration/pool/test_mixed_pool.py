"""Different environments in one pool: a task gets one of its own kind, and kinds make way for each other."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import SpecNotFound, WorldLost
from gym_anything.measure.simulated_world import SimulatedWorld
from gym_anything.pool.data_server import AsyncDataServer, DataServer
from gym_anything.pool.environment_world import EnvironmentChoice, environment_rules
from gym_anything.pool.guard import Guard
from gym_anything.pool.mixed_pool import MakePool, MixedPool
from gym_anything.pool.pool import Pool, PoolRules
from gym_anything.pool.replica_state import State
from gym_anything.pool.shards.sharded_pool import ShardedPool
from gym_anything.pool.shards.source import WorldSource
from gym_anything.pool.tasks import run_task
from gym_anything.pool.world import Vitals
from tests.integration.pool.test_pool import ROOMY, RULES, Made
from tests.unit.episode.fake_envs import env_spec, task_spec

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

T = TypeVar("T")
SOON = 20.0


def kind(made: Made, least: int, most: int) -> MakePool:
    def make(guard: Guard, label: str) -> Pool:
        rules = PoolRules(least=least, most=most, replica=RULES)
        return Pool(made, rules, read=lambda: ROOMY, guard=guard, label=label)

    return make


def mixed(work: Callable[[MixedPool], Awaitable[T]], least: int = 1, most: int = 3) -> T:
    worlds = {"a": Made(), "b": Made()}

    async def whole() -> T:
        async with MixedPool({name: kind(made, least, most) for name, made in worlds.items()}, most=most) as pool:
            return await work(pool)

    result = asyncio.run(whole())
    assert not any(world.alive for made in worlds.values() for world in made.worlds)
    return result


def test_a_task_gets_a_replica_of_its_own_kind() -> None:
    async def work(pool: MixedPool) -> None:
        await pool.ready(2, Deadline.after(SOON))
        first = await pool.acquire_for({"env": "a"}, Deadline.after(SOON))
        second = await pool.acquire_for({"env": "b"}, Deadline.after(SOON))
        assert first.name != second.name
        assert pool.pools["a"].counts()[State.ASSIGNED] == pool.pools["b"].counts()[State.ASSIGNED] == 1
        assert {one["env"] for one in pool.status()["replicas"]} == {"a", "b"}
        for wrong in ({"env": "c"}, {}, "task"):
            with pytest.raises(SpecNotFound, match="one of a, b"):
                await pool.acquire_for(wrong, Deadline.after(SOON))

    mixed(work)


def test_a_replica_that_rests_makes_way_for_a_kind_that_is_waited_for() -> None:
    async def work(pool: MixedPool) -> None:
        await pool.ready(2, Deadline.after(SOON))
        leases = [await pool.acquire_for({"env": "a"}, Deadline.after(SOON)) for _ in range(3)]
        assert pool.pools["b"].size == 0 and pool.pools["a"].size == 3
        waiting = asyncio.create_task(pool.acquire_for({"env": "b"}, Deadline.after(SOON)))
        leases[0].release()
        back = await waiting
        assert (await back.perform("step", 1))["step"] == 1
        assert pool.pools["b"].size == 1 and sum(one.size for one in pool.pools.values()) == 3

    mixed(work)


def test_kinds_that_are_waited_for_by_turns_all_get_through() -> None:
    async def work(pool: MixedPool) -> None:
        async def one(number: int) -> int:
            outcome = await run_task(
                pool.of({"env": "ab"[number % 2]}), lambda lease: lease.perform("step", number), Deadline.after(SOON)
            )
            assert outcome.result is not None, outcome.error
            return int(outcome.result["step"])

        assert sorted(await asyncio.gather(*(one(number) for number in range(12)))) == list(range(12))

    mixed(work, most=2)


def test_what_cannot_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        MixedPool({"a": kind(Made(), 2, 2), "b": kind(Made(), 1, 1)}, most=2)
    with pytest.raises(ValueError, match="do not fit"):
        MixedPool({}, most=2)


def test_environments_of_two_specs_are_served_side_by_side(tmp_path: Path) -> None:
    def environment(name: str) -> MakePool:
        choice = EnvironmentChoice(env_spec(tmp_path, id=f"{name}@1"))
        rules = dataclasses.replace(environment_rules(choice, least=1), replica=RULES)
        return lambda guard, label: Pool(choice.make_world, rules, read=lambda: ROOMY, guard=guard, label=label)

    with DataServer(lambda: MixedPool({name: environment(name) for name in ("x", "y")}, most=2)) as server:
        begun = server.reset([{"env": name, "task": task_spec(id=f"{name}@1")} for name in ("x", "y")])
        assert [reply.value["info"]["task_id"] for reply in begun] == ["x@1", "y@1"]
        (wrong,) = server.reset([{"env": "z"}])
        assert isinstance(wrong.error, SpecNotFound)


class LostAtFirst(Made):
    """The world of the first replica goes as soon as a task is begun on it."""

    def __call__(self) -> SimulatedWorld:
        world = super().__call__()
        if len(self.worlds) == 1:
            world.perform = self._go  # type: ignore[method-assign]
        return world

    def _go(self, operation: str, argument: object) -> object:
        raise WorldLost("gone")


def test_an_episode_begins_on_another_replica_when_the_first_goes_meanwhile() -> None:
    async def whole() -> None:
        pool = Pool(LostAtFirst(), PoolRules(least=2, most=2, replica=RULES), read=lambda: ROOMY)
        async with AsyncDataServer(pool) as server:
            await pool.ready(2, Deadline.after(SOON))
            replies = await server.reset(["one", "two"])
            assert [reply.error for reply in replies] == [None, None]
            lost = [line for one in pool.status()["replicas"] for line in one["story"] if "lost: gone" in line]
            assert len(lost) == 1

    asyncio.run(whole())


class Named:
    """A world in a shard that answers with its kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def create(self) -> None: ...

    def recycle(self) -> None: ...

    def probe(self, deep: bool) -> Vitals:
        return Vitals(10.0)

    def perform(self, operation: str, argument: Any) -> Any:
        return {"kind": self.kind, "pid": os.getpid()}

    def abort(self) -> None: ...

    def destroy(self) -> None: ...


def named_worlds(kind: str) -> Callable[[], Named]:
    """Return what makes worlds; see ``WorldSource``."""
    return lambda: Named(kind)


def test_the_kinds_may_live_in_shards_and_make_way_for_each_other() -> None:
    def sharded(name: str) -> MakePool:
        source = WorldSource("tests.integration.pool.test_mixed_pool:named_worlds", {"kind": name})
        rules = PoolRules(least=0, most=1, replica=RULES)
        return lambda guard, label: ShardedPool(source, rules, shards=1, read=lambda: ROOMY, guard=guard, label=label)

    async def whole() -> list[dict[str, Any]]:
        found = []
        async with MixedPool({name: sharded(name) for name in "ab"}, most=1) as pool:
            for name in "aba":
                lease = await pool.acquire_for({"env": name}, Deadline.after(SOON))
                found.append(await lease.perform("who", None))
                lease.release()
        return found

    found = asyncio.run(whole())
    assert [one["kind"] for one in found] == ["a", "b", "a"]
    assert os.getpid() not in {one["pid"] for one in found}
