"""Chaos on real worlds: episodes that write lines into a terminal while their worlds are broken in every way.

What counts is what the worlds themselves hold: at the end of an episode the file that its terminal wrote must have
each line once, in order. What was applied in worlds that are gone is known from a journal, written before each input.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded
from gym_anything.measure.journal import Journal
from gym_anything.measure.passing_time import pass_time
from gym_anything.measure.real_faults import INSIDE, OUTSIDE, FaultInjector, small_disk
from gym_anything.measure.world_pool import OnNews, choice_of, make_first, spec_of, world_processes
from gym_anything.pool.environment_world import environment_rules
from gym_anything.pool.guard import GuardRules
from gym_anything.pool.pool import Lease
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.replica_state import ReplicaRules
from gym_anything.pool.shards.sharded_pool import ShardedPool
from gym_anything.pool.shards.source import WorldSource
from gym_anything.pool.tasks import TaskOutcome, run_task

_UP_S, _LIMIT_S, _LEFT_S, _FULL_S = 300.0, 1800.0, 30.0, 5.0
_WRITTEN_S, _LOOK_S = 10.0, 0.05
_HEALTH = HealthRules(probe_every_s=1.0, probe_limit_s=5.0, missed_limit=3)
_RULES = ReplicaRules(
    create_limit_s=120.0, reset_limit_s=120.0, back_off_s=0.1, back_off_max_s=2.0, crash_limit=1000, health=_HEALTH
)
LINES = "/home/ga/lines.txt"
_TERMINAL = (
    f"rm -f {LINES}; setsid sudo -u ga env DISPLAY=$DISPLAY HOME=/home/ga xterm -e sh -c 'cat > {LINES}' "
    "> /tmp/xterm.log 2>&1 < /dev/null & "
    "window=$(timeout 60 xdotool search --sync --onlyvisible --class xterm | tail -n 1) && "
    'xdotool windowfocus --sync "$window"'
)


@dataclass(frozen=True, slots=True)
class RealChaosRequest:
    """What is played, on worlds of a ``kind`` (``desktop``, ``vm``).

    Attributes:
        episodes, steps: so many, of so many lines each. fault_every_s: how often there is a fault from outside.
    """

    kind: str = "desktop"
    episodes: int = 100
    steps: int = 6
    replicas: int = 8
    shards: int = 2
    fault_every_s: float = 1.0
    seed: int = 1


@dataclass
class RealChaosFound:
    """What became of it.

    Attributes:
        faults: how many of each kind there were. lost: episodes without a result. wrong: whose file did not hold each
            line once. twice: inputs that were done more than once, in any world. disturbed: attempts that broke while
            nothing had been done to their world. left: processes of worlds at the end. reasons: what ended attempts.
    """

    request: RealChaosRequest
    faults: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    lost: int = 0
    wrong: int = 0
    twice: int = 0
    disturbed: int = 0
    left: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        counts = {"lost": self.lost, "wrong": self.wrong, "twice": self.twice, "disturbed": self.disturbed}
        total = {"faults": sum(self.faults.values()), "fault_kinds": dict(self.faults)}
        story = {"alive": self.left, "reasons": dict(self.reasons.most_common(12))}
        return {"episodes": self.request.episodes, "attempts": self.attempts, **total, **counts, **story}


def measure_real_chaos(request: RealChaosRequest, on_news: OnNews = lambda what, share: None) -> RealChaosFound:
    """Play the episodes, break the worlds, and count. Blocks: some seconds for each episode. Leaves nothing.

    Raises: MissingDependency for who may not mount a small disk; NoReplica with what holds them up.
    """
    with tempfile.TemporaryDirectory(prefix="ga-chaos-") as top, small_disk(Path(top)) as disk:
        journal = Journal(Path(top) / "journal.jsonl")
        try:
            return asyncio.run(_Chaos(request, journal, disk, Path(top)).play(on_news))
        finally:
            journal.close()


class _Chaos:
    def __init__(self, request: RealChaosRequest, journal: Journal, disk: Path, top: Path) -> None:
        self._request, self._journal, self._disk, self._top = request, journal, disk, top
        self.found = RealChaosFound(request)
        self._broken: list[tuple[str, float]] = []
        spec = spec_of(request.kind, str(disk)) | {"resources": {"cpu": 1, "mem_gb": 1, "net": False}}
        self._choice = choice_of(request.kind, spec)
        arguments = {
            "choice": self._choice.to_dict(),
            "journal": str(top / "journal.jsonl"),
            "chances": dict.fromkeys(INSIDE[request.kind], 0.03),
            "seed": request.seed,
        }
        self._source = WorldSource("gym_anything.measure.faulty_world:faulty_worlds", arguments)
        changes: dict[str, Any] = {"replica": _RULES, "guard": GuardRules(unknown_mib=100), "cold": False}
        self._rules = environment_rules(self._choice, least=request.replicas, creating_at_once=4, **changes)

    async def play(self, on_news: OnNews) -> RealChaosFound:
        request, done = self._request, 0
        make_first(self._choice)

        async def one() -> TaskOutcome[list[str]]:
            nonlocal done
            outcome = await run_task(pool, self._episode, Deadline.after(_LIMIT_S), retries=50)
            done += 1
            on_news("episodes", done / request.episodes)
            return outcome

        async with ShardedPool(self._source, self._rules, shards=request.shards) as pool:
            await pool.ready(request.replicas, Deadline.after(_UP_S))
            injecting = asyncio.create_task(self._inject(pool))
            try:
                outcomes = await asyncio.gather(*(one() for _ in range(request.episodes)))
            finally:
                injecting.cancel()
            (ended,) = await asyncio.gather(injecting, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended  # faults were not done any more: what was counted proves nothing
        self._judge(outcomes)
        return self.found

    async def _inject(self, pool: ShardedPool) -> None:
        request = self._request
        injector = FaultInjector(pool, self._journal, self._disk, OUTSIDE[request.kind], request.seed)
        while True:
            await pass_time(request.fault_every_s)
            await injector.one()

    async def _episode(self, lease: Lease) -> list[str]:
        """Write the lines and return what the terminal's file holds then."""
        try:
            task = {"id": "chaos.lines@1", "hooks": {"pre_task": _TERMINAL}}
            await lease.perform("reset", {"task": task, "max_steps": 1000})
            tokens = [f"{lease.name}-{number}" for number in range(self._request.steps)]
            for token in tokens:
                await lease.perform("step", {"keyboard": {"text": f"{token}\n"}})
            return await self._written(lease)
        except BaseException:
            self._broken.append((lease.name, time.monotonic()))
            raise

    async def _written(self, lease: Lease) -> list[str]:
        """Return the lines in the terminal's file once they are all there: it takes what was typed in its own time."""
        there = self._top / f"lines-{lease.name}"
        until = Deadline.after(_WRITTEN_S)
        while True:
            late = until.expired()
            await lease.perform("copy_from", {"guest_path": LINES, "host_path": str(there)})
            lines = there.read_text(encoding="utf-8").split()
            if late or len(lines) >= self._request.steps:
                return lines
            await pass_time(_LOOK_S)

    def _judge(self, outcomes: list[TaskOutcome[list[str]]]) -> None:
        found, events = self.found, self._journal.read()
        found.faults.update(event["kind"] for event in events if event["event"] == "fault")
        steps = [event for event in events if event["event"] == "step"]
        found.twice = sum(count > 1 for count in Counter(event["token"] for event in steps).values())
        for outcome in outcomes:
            found.attempts += len(outcome.attempts)
            found.reasons.update(type(one.error).__name__ for one in outcome.attempts if one.error is not None)
            if outcome.result is None:
                found.lost += 1
            elif [line.rpartition("-")[2] for line in outcome.result] != [*map(str, range(self._request.steps))]:
                found.wrong += 1
                found.reasons[f"lines: {' '.join(outcome.result)}"] += 1
        found.disturbed = self._disturbed(events)
        try:
            wait_until(lambda: not world_processes(), deadline=Deadline.after(_LEFT_S), awaited="the end of worlds")
        except DeadlineExceeded:
            found.left = len(world_processes())

    def _disturbed(self, events: list[dict[str, Any]]) -> int:
        """Return how many attempts broke in worlds that nothing was done to. A full disk is everybody's for a while."""
        world_of = {one["token"].rpartition("-")[0]: one["world"] for one in events if one["event"] == "step"}
        hit = {one["world"] for one in events if one["event"] == "fault"}
        hit |= {world for one in events for world in one.get("worlds", [])}
        full = [one["at"] for one in events if one["event"] in ("fault", "fault_over") and one["world"] == "*"]
        return sum(
            lease in world_of and world_of[lease] not in hit and not any(-1 < at - moment < _FULL_S for moment in full)
            for lease, at in self._broken
        )
