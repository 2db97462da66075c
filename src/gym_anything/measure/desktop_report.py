"""Measure the desktop service on each kind of X server beside the ways in use elsewhere, and say what was found."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from gym_anything.errors import MissingDependency
from gym_anything.measure import desktop_cost, desktop_series
from gym_anything.measure.desktop_rig import SIZE, Rig
from gym_anything.measure.desktop_ways import Ways
from gym_anything.measure.desktop_windows import Terminal
from gym_anything.measure.turns import OnRound, Series
from gym_anything.measure.way import WAYS
from gym_anything.runtime.desktop.private_screen import PACKAGES, SERVERS

SCHEMA = 1
"""Grows when a program that reads the document must change."""

CONDITIONS = (
    f"{SIZE[0]}x{SIZE[1]}, the ways by turns in every round, one client in Python, no window manager; "
    "memory is PSS, CPU of one core"
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        rounds: turns of each way in each series; typing and starts have a quarter of them.
        window_s: how long each share of the processor is measured.
    """

    rounds: int = 20
    window_s: float = 5.0

    @property
    def few(self) -> int:
        """Rounds of what takes long."""
        return max(1, self.rounds // 4)


QUICK = Effort(rounds=3, window_s=1.0)


@dataclass
class ServerReport:
    """What was measured on one X server."""

    server: str
    series: list[Series] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        return {
            "server": self.server,
            "series": {series.key: series.to_dict() for series in self.series},
            "skipped": self.skipped,
        }


def document(reports: Iterable[ServerReport], effort: Effort) -> dict[str, Any]:
    """Return what ``--json`` prints: schema, conditions, rounds, servers."""
    servers = [report.to_dict() for report in reports]
    return {"schema": SCHEMA, "conditions": CONDITIONS, "rounds": effort.rounds, "servers": servers}


def servers_here() -> list[str]:
    """Return the X servers that can be measured on. Raises: MissingDependency when there is none."""
    found = [name for name in SERVERS if shutil.which(name)]
    if not found:
        fix = f"sudo apt-get install -y {' '.join(PACKAGES.values())}"
        raise MissingDependency(f"none of {', '.join(SERVERS)} is installed", detail={"fix": fix})
    return found


def measure_desktop(
    servers: Collection[str],
    effort: Effort,
    ways: Collection[str] = WAYS,
    on_news: Callable[[str, float], None] = lambda what, share: None,
) -> list[ServerReport]:
    """Measure on each server in turn. Nothing is left, however it ends.

    Args:
        ways: keys of ``WAYS``.
        on_news: called with what is being measured, and how much of the whole is done (0 to 1).
    """
    reports = []
    for done, server in enumerate(servers):

        def share(what: str, part: float, done: int = done, server: str = server) -> None:
            on_news(f"{server}: {what}", (done + part) / len(servers))

        reports.append(_measure_on(server, effort, ways, share))
    return reports


def _measure_on(
    server: str, effort: Effort, wanted: Collection[str], on_news: Callable[[str, float], None]
) -> ServerReport:
    report = ServerReport(server)
    with Rig(server) as rig, Ways(rig, wanted) as ways:
        report.skipped = ways.missing()
        rig.open_window()
        few, many = effort.few, effort.rounds
        parts: list[tuple[int, Callable[[OnRound], list[Series]]]] = [
            (3 * many, lambda told: desktop_series.see(rig, ways, many, told)),
            (2 * many, lambda told: desktop_series.click(rig, ways, many, told)),
            (2 * many, lambda told: desktop_series.step(rig, ways, many, told)),
            (few, lambda told: desktop_cost.processor_time_of_a_picture(rig, ways, few, told)),
            (1, lambda told: desktop_cost.memory_and_processor(rig, ways, effort.window_s, told)),
            (few, lambda told: desktop_cost.start(rig, ways, few, told)),
        ]
        missing = Terminal.missing()
        if missing:
            report.skipped["typing"] = missing
        else:
            parts.append((2 * few, lambda told: desktop_series.type_text(rig, ways, few, told)))
        rounds, begun = sum(rounds for rounds, _ in parts), itertools.count()
        for _, part in parts:
            report.series += part(lambda what: on_news(what, next(begun) / rounds))
    return report
