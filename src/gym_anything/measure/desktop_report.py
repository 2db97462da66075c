"""Measure the desktop service on each kind of X server, and say what was found: medians and ratios."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from gym_anything.errors import MissingDependency
from gym_anything.measure import desktop_series
from gym_anything.measure.desktop_rig import SIZE, Rig, Terminal
from gym_anything.measure.desktop_series import Samples
from gym_anything.measure.desktop_ways import OURS, reached_by_libraries, ways_to_click, ways_to_see, ways_to_type
from gym_anything.runtime.desktop.private_screen import PACKAGES, SERVERS


@dataclass
class ServerReport:
    """What was measured on one X server."""

    server: str
    series: dict[str, Samples] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    wrong_texts: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: per series and way the median, the ratio to ours and the samples."""
        series = {
            name: {way: _summary(values, samples) for way, values in samples.items() if values}
            for name, samples in self.series.items()
        }
        return {
            "server": self.server,
            "series": series,
            "skipped": self.skipped,
            "wrong_texts": self.wrong_texts,
        }


def unit_of(series: str) -> str:
    """Return the unit of a series: what its name ends in, else milliseconds."""
    return series.rpartition(", ")[2] if series.endswith(("%", "MiB")) else "ms"


def servers_here() -> list[str]:
    """Return the X servers that can be measured on. Raises: MissingDependency when there is none."""
    found = [name for name in SERVERS if shutil.which(name)]
    if not found:
        fix = f"sudo apt-get install -y {' '.join(PACKAGES.values())}"
        raise MissingDependency(f"none of {', '.join(SERVERS)} is installed", detail={"fix": fix})
    return found


def measure_desktop(
    servers: Iterable[str], rounds: int, say: Callable[[str], None] = lambda text: None
) -> list[ServerReport]:
    """Measure on each server in turn. Nothing is left, however it ends.

    Args:
        rounds: how often each way has its turn in each series.
        say: called with what is being measured.
    """
    return [_measure_on(server, rounds, say) for server in servers]


def _measure_on(server: str, rounds: int, say: Callable[[str], None]) -> ServerReport:
    report = ServerReport(server)
    with Rig(server) as rig, reached_by_libraries(rig):
        for way in (*ways_to_see(rig), *ways_to_click(rig), *ways_to_type(rig)):
            if way.missing:
                report.skipped[way.name] = way.missing
        say(f"{server}: cost")
        report.series |= desktop_series.cost(rig)
        say(f"{server}: screenshots")
        report.series |= desktop_series.see(rig, rounds)
        say(f"{server}: clicks")
        report.series |= desktop_series.click(rig, rounds)
        say(f"{server}: steps")
        report.series |= desktop_series.step(rig, rounds)
        say(f"{server}: typing")
        missing = Terminal.missing()
        if missing:
            report.skipped["typing"] = missing
        else:
            series, report.wrong_texts = desktop_series.type_text(rig, max(1, rounds // 4))
            report.series |= series
    return report


def _summary(values: list[float], samples: Samples) -> dict[str, Any]:
    ours = samples.get(OURS)
    median = statistics.median(values)
    ratio = median / statistics.median(ours) if ours and statistics.median(ours) > 0 else None
    return {
        "p50": round(median, 4),
        "max": round(max(values), 4),
        "times_ours": round(ratio, 2) if ratio is not None else None,
        "samples": [round(value, 4) for value in values],
    }


CONDITIONS = f"{SIZE[0]}x{SIZE[1]}, the ways by turns in every round, one client in Python, no window manager"
