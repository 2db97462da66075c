"""Faults that are done to real worlds from outside, each for what it is: signals, a full disk, a dead shard."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.orphan_processes import LabelledProcess
from gym_anything.errors import MissingDependency
from gym_anything.measure.journal import Journal
from gym_anything.measure.passing_time import pass_time
from gym_anything.measure.world_pool import world_processes
from gym_anything.pool.shards.sharded_pool import ShardedPool

_ALWAYS = ("killed", "stopped", "slow", "disk_full", "shard_killed")
OUTSIDE = {"desktop": (*_ALWAYS, "hung"), "vm": _ALWAYS}
INSIDE = {"desktop": ("lost_answer", "out_of_memory"), "vm": ("lost_answer", "out_of_memory", "crashed_guest")}
"""Those that ``FaultyWorld`` does: a machine's own processes are out of reach from outside."""
_SERVICE = "ga-desktop"
_SLOW_TURNS, _SLOW_S, _FULL_S = 4, 0.3, 0.5
_SMALL_MIB = 192


@contextmanager
def small_disk(top: Path) -> Iterator[Path]:
    """Give a folder on a file system of its own that is soon full. Raises: MissingDependency for who may not mount."""
    if os.geteuid() != 0:
        raise MissingDependency(
            "only root can mount a small disk for the fault disk_full", detail={"fix": "run as root"}
        )
    folder = top / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SMALL_MIB}m", "gym-anything", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


class FaultInjector:
    """Does one fault after another to worlds that chance picks."""

    def __init__(self, pool: ShardedPool, journal: Journal, disk: Path, kinds: Sequence[str], seed: int) -> None:
        self._pool, self._journal, self._disk = pool, journal, disk
        self._chance = random.Random(seed)
        self._all, self._kinds = kinds, list[str]()

    async def one(self) -> None:
        """Do the next fault; does nothing when there is no world."""
        worlds: dict[str, list[LabelledProcess]] = {}
        for process in world_processes():
            worlds.setdefault(process.label.world, []).append(process)
        if not worlds:
            return
        if not self._kinds:
            self._kinds = self._chance.sample(self._all, len(self._all))
        kind, world = self._kinds.pop(), self._chance.choice(sorted(worlds))
        await getattr(self, f"_{kind}")(world, worlds[world])

    async def _killed(self, world: str, processes: list[LabelledProcess]) -> None:
        self._journal.write("fault", kind="killed", world=world)
        _signal(processes, signal.SIGKILL)

    async def _stopped(self, world: str, processes: list[LabelledProcess]) -> None:
        self._journal.write("fault", kind="stopped", world=world)
        _signal(processes, signal.SIGSTOP)

    async def _hung(self, world: str, processes: list[LabelledProcess]) -> None:
        self._journal.write("fault", kind="hung", world=world)
        _signal([one for one in processes if _SERVICE in one.command], signal.SIGSTOP)

    async def _slow(self, world: str, processes: list[LabelledProcess]) -> None:
        self._journal.write("fault", kind="slow", world=world)
        for _ in range(_SLOW_TURNS):
            _signal(processes, signal.SIGSTOP)
            await pass_time(_SLOW_S)
            _signal(processes, signal.SIGCONT)
            await pass_time(_SLOW_S / 3)

    async def _disk_full(self, world: str, processes: list[LabelledProcess]) -> None:
        self._journal.write("fault", kind="disk_full", world="*")
        filler = self._disk / "filler"
        _fill(filler)
        await pass_time(_FULL_S)
        filler.unlink(missing_ok=True)
        self._journal.write("fault_over", kind="disk_full", world="*")

    async def _shard_killed(self, world: str, processes: list[LabelledProcess]) -> None:
        shards = [one["pid"] for one in self._pool.status()["shards"] if one["pid"]]
        if not shards:
            return
        victim = self._chance.choice(shards)
        hit = sorted({one.label.world for one in world_processes() if one.label.owner.pid == victim})
        self._journal.write("fault", kind="shard_killed", world="", worlds=hit)
        _signal_pid(victim, signal.SIGKILL)


def _signal(processes: list[LabelledProcess], number: int) -> None:
    for process in processes:
        if process.alive:
            _signal_pid(process.pid, number)


def _signal_pid(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _fill(path: Path) -> None:
    block = b"\0" * (1 << 20)
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(block)
            except OSError:  # full: what was wanted
                return
