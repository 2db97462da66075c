"""Tables of pools and their replicas."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gym_anything.errors import GymAnythingError, StateError
from gym_anything.pool.started.asking import ask
from gym_anything.pool.started.folder import PoolEntry, find_pools

if TYPE_CHECKING:
    from rich.console import RenderableType

_COLOURS = {
    "idle": "green",
    "assigned": "cyan",
    "creating": "blue",
    "resetting": "blue",
    "queued": "yellow",
    "clearing": "red",
    "backing off": "red",
}
_FRAME_ROWS = 9
"""What stands around the rows of the replicas."""


def pool_view(entry: PoolEntry | None, height: int | None) -> RenderableType:
    """Return one pool with its replicas, or all pools (None). Raises: StateError once the pool has ended."""
    from rich.console import Group

    if entry is None:
        return pools_table([(one, status_of(one)) for one in find_pools()])
    if entry.owner.is_dead():
        raise StateError(f"pool {entry.name} has ended")
    status = ask(entry, "status")
    parts: list[RenderableType] = [pools_table([(entry, status)]), *remarks(status)]
    rows = [(None, one) for one in status["replicas"]]
    return Group(*parts, replicas_table(rows, None if height is None else height - _FRAME_ROWS))


def status_of(entry: PoolEntry) -> dict[str, Any] | None:
    """Return a pool's status; None where it does not answer: it may end at this moment."""
    try:
        status: dict[str, Any] = ask(entry, "status")
    except GymAnythingError:
        return None
    return status


def pools_table(pools: Sequence[tuple[PoolEntry, dict[str, Any] | None]]) -> RenderableType:
    """Return a table with a row for each pool."""
    from rich.text import Text

    if not pools:
        return Text("No pool runs here; `gym-anything pool start` starts one.")
    headings = ("pool", "environment", "phase", "replicas", "tasks", "waiting", "worlds", "process", "up")
    rows: list[tuple[Any, ...]] = []
    for entry, status in pools:
        if status is None:
            rows.append(
                (entry.name, str(entry.facts.get("environment")), "does not answer", *[""] * 4, str(entry.pid), "")
            )
            continue
        size = str(status["least"]) if status["least"] == status["most"] else f"{status['least']}–{status['most']}"
        counts = Text(f"{size}: ")
        for number, (state, count) in enumerate(sorted(status["counts"].items())):
            counts.append(", " if number else "").append(f"{count} {state}", style=_COLOURS.get(state, ""))
        worlds = "" if status["memory_mib"] is None else mib(status["memory_mib"])
        process = f"{status['pid']}, {mib(status['own_pss_mib'])}"
        up = span(time.time() - status["started_at"])
        phase = str(status["phase"])
        name, kind, busy, waiting = entry.name, status["environment"], str(status["leases"]), str(status["waiting"])
        rows.append((name, kind, phase, counts, busy, waiting, worlds, process, up))
    return table(headings, rows)


def remarks(status: dict[str, Any]) -> list[RenderableType]:
    """Return lines about what a person should know of a pool."""
    from rich.text import Text

    said = [("the guard last said", status["last_refusal"]), ("a replica gave up", status["last_failure"])]
    said.append(("metrics", status.get("metrics_url")))
    return [Text(f"{what}: {value}") for what, value in said if value]


def replicas_table(rows: Sequence[tuple[str | None, dict[str, Any]]], most: int | None) -> RenderableType:
    """Return a table of replicas, each with its pool's name (None: there is one); what changed last comes first.

    Args: most: rows there is room for; None: all, by number.
    """
    shown = list(rows)
    if most is not None and len(shown) > most:
        shown = sorted(shown, key=lambda row: row[1]["since"] or 0.0, reverse=True)[: max(1, most)]
    with_pool = any(pool is not None for pool, _ in rows)
    headings = ("replica", "state", "for", "world", "episode", "memory", "last transition")
    now = time.time()
    cells = []
    for pool, one in shown:
        since = "" if one["since"] is None else span(now - one["since"])
        memory = "" if one["memory_mib"] is None else mib(one["memory_mib"])
        row = (one["number"], _state(one["state"]), since, one["generation"] or "", one["lease"] or "", memory)
        cells.append((*((pool or "",) if with_pool else ()), *row, one["reason"] or ""))
    caption = None if len(shown) == len(rows) else f"the {len(shown)} of {len(rows)} replicas that changed last"
    return table((*(("pool",) if with_pool else ()), *headings), cells, caption=caption)


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]], *, caption: str | None = None) -> RenderableType:
    """Return a table of plain cells."""
    from rich.table import Table
    from rich.text import Text

    made = Table(header_style="bold", caption=caption, caption_justify="left")
    for heading in headings:
        made.add_column(heading, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return made


def mib(amount: float) -> str:
    """Return an amount of memory to read."""
    return f"{amount:.0f} MiB" if amount < 10_240 else f"{amount / 1024:.1f} GiB"


def span(seconds: float) -> str:
    """Return a span of time to read."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min" if whole < 172_800 else f"{whole // 86_400} d"


def _state(state: str) -> Any:
    from rich.text import Text

    return Text(state, style=_COLOURS.get(state, ""))
