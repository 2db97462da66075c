"""What a started pool says of itself, and when its time is over."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any, Literal

from gym_anything._util import proc
from gym_anything.pool.pool import Pool
from gym_anything.pool.replica_state import State
from gym_anything.pool.started.control import Answers
from gym_anything.pool.transition_stream import TransitionStream

Phase = Literal["warming up", "ready", "draining", "stopping"]


class PoolReport:
    """Answers questions about a pool, and the wishes to drain and to stop it. Lives in the pool's event loop."""

    def __init__(self, pool: Pool, stream: TransitionStream, facts: Mapping[str, Any]) -> None:
        """Args: facts: what stands in each status as it is."""
        self._pool, self._stream, self._facts = pool, stream, dict(facts)
        self._started_at = time.time()
        self._end = asyncio.Event()
        self._draining: asyncio.Task[None] | None = None
        self._was_ready = False

    def answers(self) -> Answers:
        """Return what can be asked, for the control socket."""
        return {"status": self._status, "transitions": self._transitions, "drain": self._drain, "stop": self._stop}

    async def ended(self) -> None:
        """Wait until the pool is to be stopped, or is drained."""
        await self._end.wait()
        if self._draining is not None:
            self._draining.cancel()
            await asyncio.gather(self._draining, return_exceptions=True)

    def stop(self, reason: str) -> None:
        """Have the pool end."""
        self._facts["ending"] = reason
        self._end.set()

    @property
    def phase(self) -> Phase:
        """What the pool is about."""
        if self._end.is_set():
            return "stopping"
        if self._draining is not None:
            return "draining"
        counts = self._pool.counts()
        up = counts[State.IDLE] + counts[State.ASSIGNED]
        self._was_ready = self._was_ready or up >= self._pool.rules.least
        return "ready" if self._was_ready else "warming up"

    async def _status(self, request: Mapping[str, Any]) -> dict[str, Any]:
        status = self._pool.status()
        with_stories = bool(request.get("stories"))
        replicas = [self._replica(one, with_stories) for one in status["replicas"]]
        memory_mib = [one["memory_mib"] for one in replicas if one["memory_mib"] is not None]
        return {
            **self._facts,
            "phase": self.phase,
            "pid": os.getpid(),
            "started_at": self._started_at,
            "least": self._pool.rules.least,
            "most": self._pool.rules.most,
            "leases": sum(one["lease"] is not None for one in replicas),
            "last_failure": self._pool.last_failure or None,
            "memory_mib": round(sum(memory_mib), 1) if memory_mib else None,
            "own_pss_mib": round(proc.pss_kib(os.getpid()) / 1024, 1),
            **status,
            "replicas": replicas,
        }

    def _replica(self, one: dict[str, Any], with_stories: bool) -> dict[str, Any]:
        last = self._stream.last_of(one["number"])
        facts = {name: value for name, value in one.items() if name != "story" or with_stories}
        facts["memory_mib"] = self._stream.memory_mib_of(one["number"])
        facts["since"] = None if last is None else last.at
        facts["reason"] = None if last is None else last.reason
        return facts

    async def _transitions(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [one.to_dict() for one in self._stream.since(int(request.get("since", 0)))]

    async def _drain(self, request: Mapping[str, Any]) -> None:
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain_and_end())

    async def _drain_and_end(self) -> None:
        await self._pool.drain()
        self.stop("it was drained")

    async def _stop(self, request: Mapping[str, Any]) -> None:
        self.stop("somebody asked for it")
