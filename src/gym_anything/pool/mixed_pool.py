"""Different environments in one pool: replicas of each kind side by side, in as many places as the host has.

::

    def kind(choice: EnvironmentChoice) -> MakePool:
        rules = environment_rules(choice, least=1, most=16)
        source = WorldSource.of_environments(choice)
        return lambda guard, label: ShardedPool(source, rules, shards=2, guard=guard, label=label)

    with DataServer(lambda: MixedPool({"writer": kind(writer), "sheet": kind(sheet)}, most=16)) as server:
        server.reset([{"env": "writer", "task": "write_note"}, {"env": "sheet", "task": "sum_column"}])

A task names its environment (``TaskRequest.env``). When all places are taken, a replica that rests makes way for one of
the kind that is waited for. Its kinds are ``Pool`` (replicas in this process) or ``ShardedPool``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from gym_anything._util.deadline import Deadline
from gym_anything.errors import SpecNotFound
from gym_anything.pool.guard import Guard, GuardRules
from gym_anything.pool.lease import Lease
from gym_anything.pool.pool import Pool
from gym_anything.pool.replica_state import State

MakePool = Callable[[Guard, str], Pool]
"""Given the guard that all share and the label of this one, makes the pool of one kind."""


class MixedPool:
    """Pools of several kinds as one. Lives in one event loop; use it as an asynchronous context manager.

    Attributes:
        pools: name of each kind to its pool; for ``run_task``, which does all of a task on one kind.
    """

    def __init__(self, makes: Mapping[str, MakePool], *, most: int, guard_rules: GuardRules | None = None) -> None:
        """Nothing is started before ``start``.

        Args: makes: name of each kind to what makes its pool. most: replicas there may be of all kinds together.
        Raises: ValueError for no kind at all, and when what all keep at least is more than that.
        """
        guard = Guard(guard_rules or GuardRules())
        self.pools = {name: make(guard, f"{number}.") for number, (name, make) in enumerate(makes.items(), 1)}
        least = sum(pool.rules.least for pool in self.pools.values())
        if not self.pools or least > most or most < 1:
            raise ValueError(f"{len(self.pools)} kinds that keep {least} replicas do not fit into {most} places")
        self.most = most
        self._balancing = self._closing = False
        for pool in self.pools.values():
            pool.share = self

    # --- as a pool -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """See ``Pool``."""
        for pool in self.pools.values():
            pool.start()

    async def ready(self, count: int, deadline: Deadline) -> None:
        """Wait until so many of the replicas that are kept are idle or at work, kind after kind. Raises: NoReplica."""
        for pool in self.pools.values():
            share = min(count, pool.rules.least)
            await pool.ready(share, deadline)
            count -= share

    async def acquire_for(self, task: Any, deadline: Deadline, *, job: str = "") -> Lease:
        """See ``Pool``. Raises: SpecNotFound for an environment there is no pool of."""
        return await self.of(task).acquire_for(task, deadline, job=job)

    def of(self, task: Any) -> Pool:
        """Return the pool of a task's environment. Raises: SpecNotFound."""
        name = task.get("env") if isinstance(task, Mapping) else getattr(task, "env", None)
        if not name and len(self.pools) == 1:
            return next(iter(self.pools.values()))
        if name not in self.pools:
            known = ", ".join(sorted(self.pools))
            raise SpecNotFound(f"there is no environment {name!r} in this pool; a task's env is one of {known}")
        return self.pools[name]

    def counts(self) -> Counter[State]:
        """See ``Pool``."""
        return sum((pool.counts() for pool in self.pools.values()), Counter())

    def status(self) -> dict[str, Any]:
        """Return plain data: ``counts``, ``waiting`` and ``replicas`` of all; the status of each kind in ``kinds``."""
        kinds = {name: pool.status() for name, pool in self.pools.items()}
        replicas = [{**one, "env": name} for name, kind in kinds.items() for one in kind["replicas"]]
        waiting = sum(kind["waiting"] for kind in kinds.values())
        counts = {state.value: count for state, count in self.counts().items()}
        return {"counts": counts, "waiting": waiting, "replicas": replicas, "kinds": kinds}

    async def drain(self) -> None:
        """See ``Pool``."""
        self._closing = True
        await asyncio.gather(*(pool.drain() for pool in self.pools.values()))

    async def stop(self) -> None:
        """See ``Pool``."""
        self._closing = True
        await asyncio.gather(*(pool.stop() for pool in self.pools.values()))

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # --- as what the pools share ---------------------------------------------------------------------------------

    def may_grow(self) -> bool:
        """See ``PoolShare``."""
        return self._size() < self.most

    def changed(self) -> None:
        """See ``PoolShare``; balanced once in a turn of the loop."""
        if not self._balancing and not self._closing:
            self._balancing = True
            asyncio.get_running_loop().call_soon(self._balance)

    def _balance(self) -> None:
        """Give free places to kinds that are waited for, else to those below their least.

        Where there are none, replicas that rest make way, also of those that a kind keeps.
        """
        self._balancing = False
        if self._closing:
            return
        for pool in self.pools.values():
            for _ in range(pool.wanting):
                if self.may_grow():
                    pool.grow()
                elif not self._make_way(pool):
                    return
        for pool in self.pools.values():
            for _ in range(pool.lacking):
                if self.may_grow():
                    pool.grow()

    def _make_way(self, needy: Pool) -> bool:
        """Have one of the others give a replica up, the largest first; its place is free once it has gone."""
        others = sorted((pool for pool in self.pools.values() if pool is not needy), key=lambda pool: -pool.size)
        return any(pool.give_one_up("another environment needs its place") for pool in others)

    def _size(self) -> int:
        return sum(pool.size for pool in self.pools.values())
