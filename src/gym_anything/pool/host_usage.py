"""What the worlds and pools of this host use: processes, processor time, memory, by run and world."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import proc
from gym_anything._util.labels import NO_WORLD
from gym_anything._util.orphan_processes import LabelledProcess, labelled_processes
from gym_anything._util.state_dir import MANIFEST

_PSS_EVERY_S = 5.0
Who = tuple[int, int]
"""A process: its number, and when it started."""
Group = tuple[str, str]
"""A run and a world."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What belongs to one world, or (``world`` is "-") to a run as a whole.

    Attributes:
        owner: the process that it belongs to.
        cores: processors' worth of time since the last sample; None in the first one.
        pss_mib: proportional memory; a few seconds old. facts: the world's manifest.
    """

    run: str
    world: str
    owner: int
    processes: int
    cores: float | None
    pss_mib: float
    facts: dict[str, Any]


class HostUsage:
    """Samples ``/proc``: everything that carries our label and that we may read."""

    def __init__(
        self,
        root: Path,
        clock: Callable[[], float] = time.monotonic,
        find: Callable[[], list[LabelledProcess]] = lambda: list(labelled_processes()),
    ) -> None:
        """Args: root: the state folder, whose manifests tell what the worlds are."""
        self._root, self._clock, self._find = root, clock, find
        self._sampled_at: float | None = None
        self._pss_at = float("-inf")
        self._ticks: dict[Who, int] = {}
        self._pss_kib: dict[Who, int] = {}

    def sample(self) -> list[Usage]:
        """Return the present usage by run and world. Blocks: a millisecond and less for each process."""
        now = self._clock()
        span = None if self._sampled_at is None else max(1e-6, now - self._sampled_at)
        measure, self._sampled_at = now - self._pss_at >= _PSS_EVERY_S, now
        if measure:
            self._pss_at = now
        members, owners = self._members()
        ticks = {who: proc.cpu_ticks(who[0]) for group in members.values() for who in group}
        pss = {
            who: proc.pss_kib(who[0]) if measure or who not in self._pss_kib else self._pss_kib[who] for who in ticks
        }
        before, self._ticks, self._pss_kib = self._ticks, ticks, pss
        return [
            Usage(
                run=group[0],
                world=group[1],
                owner=owners[group],
                processes=len(whos),
                cores=None if span is None else _spent_s(whos, before, ticks) / span,
                pss_mib=sum(pss[who] for who in whos) / 1024,
                facts=self._facts(*group),
            )
            for group, whos in sorted(members.items())
        ]

    def _members(self) -> tuple[dict[Group, list[Who]], dict[Group, int]]:
        """Return the processes of each group, and each group's owner.

        A program in a sandbox may have lost its label: it belongs to its nearest ancestor that has one.
        """
        labelled = {process.pid: process for process in self._find()}
        stats = {pid: stat for pid in proc.pids() if (stat := proc.read_stat(pid)) is not None}
        members: dict[Group, list[Who]] = {}
        owners: dict[Group, int] = {}
        for pid, stat in stats.items():
            above = pid
            while above not in labelled and above in stats:
                above = stats[above].parent
            process = labelled.get(above)
            if process is not None:
                group = (process.label.run, process.label.world)
                members.setdefault(group, []).append((pid, stat.start_ticks))
                owners[group] = process.label.owner.pid
        return members, owners

    def _facts(self, run: str, world: str) -> dict[str, Any]:
        folder = self._root / run if world == NO_WORLD else self._root / run / world
        try:
            facts = json.loads((folder / MANIFEST).read_bytes())
        except (OSError, ValueError):
            return {}  # of another state folder, or gone at this moment
        return facts if isinstance(facts, dict) else {}


def _spent_s(whos: list[Who], before: dict[Who, int], now: dict[Who, int]) -> float:
    """Return the processor time since the last sample; of a process that is new all it has spent."""
    return sum(max(0, now[who] - before.get(who, 0)) for who in whos) / proc.CLOCK_TICKS_PER_S
