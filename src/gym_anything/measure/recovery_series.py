"""All worlds of a pool killed at once: how long until every task is at work again, and whether any was lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.orphan_processes import kill_all
from gym_anything.measure.world_pool import OnNews, WorldPool, world_pool, world_processes
from gym_anything.pool.pool import Lease, Pool
from gym_anything.pool.tasks import TaskOutcome, run_task

_UP_S, _GONE_S, _AGAIN_S = 900.0, 30.0, 600.0


@dataclass(frozen=True, slots=True)
class RecoveryRequest:
    """What is killed: ``count`` worlds of a ``kind`` (``desktop``, ``vm``), each with a task at work.

    Attributes:
        step_every_s: how long a task's policy thinks between two steps.
    """

    kind: str
    count: int = 128
    step_every_s: float = 10.0


@dataclass
class RecoveryFound:
    """What became of it.

    Attributes:
        killed: processes. back_s: from the kill until every task has done a step on a fresh world; ``back_each_s``: of
            each. finished: tasks that went through to their end. attempts: of all tasks. errors: what ended attempts.
    """

    request: RecoveryRequest
    killed: int = 0
    back_s: float = 0.0
    back_each_s: list[float] = field(default_factory=list)
    finished: int = 0
    attempts: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        each = sorted(self.back_each_s)
        return {
            "kind": self.request.kind,
            "count": self.request.count,
            "killed_processes": self.killed,
            "back_s": round(self.back_s, 3),
            "back_s_p50": round(each[len(each) // 2], 3) if each else None,
            "finished": self.finished,
            "lost": self.request.count - self.finished,
            "attempts": self.attempts,
            "errors": dict(self.errors),
        }


def measure_recovery(request: RecoveryRequest, on_news: OnNews = lambda what, share: None) -> RecoveryFound:
    """Kill all worlds of a pool in the midst of their tasks. Leaves nothing, save what machines are forked from.

    Raises: NoReplica with what holds them up; TimeoutError when not every task is at work again within ten minutes.
    """
    with world_pool(request.kind, request.count, on_news) as of:
        return asyncio.run(_Recovery(request, of).run(on_news))


class _Recovery:
    def __init__(self, request: RecoveryRequest, of: WorldPool) -> None:
        self._request, self._of = request, of
        self.found = RecoveryFound(request)
        self._working: set[int] = set()
        self._all_working = asyncio.Event()
        self._killed_at: float | None = None
        self._enough = asyncio.Event()

    async def run(self, on_news: OnNews) -> RecoveryFound:
        count = self._request.count
        on_news(f"{count} replicas", 0.1)
        async with self._of.make() as pool:
            await pool.ready(count, Deadline.after(_UP_S))
            on_news("every task at work", 0.4)
            tasks = [asyncio.create_task(self._task(pool, number)) for number in range(count)]
            await self._wait_all_working(tasks)
            on_news("all killed", 0.6)
            victims, killed_at = world_processes(), time.perf_counter()
            await asyncio.to_thread(kill_all, victims, Deadline.after(_GONE_S))
            self.found.killed = len(victims)
            self._working.clear()  # a step that was done just before counts for nothing
            self._all_working.clear()
            self._killed_at = killed_at
            await self._wait_all_working(tasks)
            self.found.back_s = max(self.found.back_each_s)
            on_news("finishing", 0.9)
            self._enough.set()
            for outcome in await asyncio.gather(*tasks):
                self._judge(outcome)
        return self.found

    async def _wait_all_working(self, tasks: list[asyncio.Task[TaskOutcome[bool]]]) -> None:
        """Wait until every task has done a step; a task that ends before is an error of its own."""
        waiting = asyncio.create_task(self._all_working.wait())
        try:
            done, _ = await asyncio.wait([waiting, *tasks], timeout=_AGAIN_S, return_when=asyncio.FIRST_COMPLETED)
            if waiting not in done:
                ended = [str(task.result().error) for task in tasks if task.done()]
                why = f"one ended: {ended[0]}" if ended else f"not all within {_AGAIN_S:g} s"
                raise TimeoutError(f"{len(self._working)} of {len(tasks)} tasks are at work; {why}")
        finally:
            waiting.cancel()

    async def _task(self, pool: Pool, number: int) -> TaskOutcome[bool]:
        async def play(lease: Lease) -> bool:
            await lease.perform("reset", None)
            while not self._enough.is_set():
                await lease.perform("step", {"mouse": {"move": [10 + number, 20]}})
                self._at_work(number)
                await self._pause()
            return True

        return await run_task(pool, play, Deadline.after(_UP_S), retries=5)

    def _at_work(self, number: int) -> None:
        if number in self._working:
            return
        self._working.add(number)
        if self._killed_at is not None:
            self.found.back_each_s.append(time.perf_counter() - self._killed_at)
        if len(self._working) == self._request.count:
            self._all_working.set()

    async def _pause(self) -> None:
        """Think, as a policy does."""
        try:
            await asyncio.wait_for(self._enough.wait(), self._request.step_every_s)
        except TimeoutError:
            return

    def _judge(self, outcome: TaskOutcome[bool]) -> None:
        self.found.attempts += len(outcome.attempts)
        self.found.finished += bool(outcome.result)
        self.found.errors.update(type(one.error).__name__ for one in outcome.attempts if one.error is not None)
