"""``gym-anything top``: what runs on this host: pools, their replicas, all worlds, and what they use."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.live import show
from gym_anything.cli.output import json_option, print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gym_anything.pool.host_usage import HostUsage, Usage
    from gym_anything.pool.started.folder import PoolEntry

Asked = Sequence[tuple["PoolEntry", "dict[str, Any] | None"]]

_EVERY_S = 2.0
_FIRST_S = 0.5
_FRAMES = 14
"""Rows that the three tables take beside their content."""


@click.command()
@click.option("--once", is_flag=True, help="Print it once, as where the output is no terminal.")
@json_option
def top(once: bool, as_json: bool) -> None:
    """Show pools, replicas and worlds of this host: states, processors, memory, what happened last.

    Worlds of other state folders are shown where they can be read. Ctrl-C ends it.
    """
    from gym_anything._util.state_dir import state_root
    from gym_anything.cli.output import make_console
    from gym_anything.pool.host_usage import HostUsage

    usage = HostUsage(state_root())
    usage.sample()
    threading.Event().wait(_FIRST_S)  # processor time is that between two samples
    if as_json:
        print_json(_document(usage))
    else:
        watch = make_console().is_terminal and not once
        show(lambda height: _view(usage, height), watch=watch, every_s=_EVERY_S)


def _document(usage: HostUsage) -> dict[str, Any]:
    pools, found = _ask(), usage.sample()
    whose = pools_of(found, pools)
    worlds = [
        {
            "pool": whose.get(one.owner),
            "run": one.run,
            "world": one.world,
            "owner": one.owner,
            "processes": one.processes,
            "cores": None if one.cores is None else round(one.cores, 3),
            "pss_mib": round(one.pss_mib, 1),
            "facts": {name: one.facts.get(name) for name in _FACTS},
        }
        for one in found
    ]
    return {"pools": [status for _, status in pools if status is not None], "worlds": worlds}


_FACTS = ("runner", "env", "created_at")


def _view(usage: HostUsage, height: int | None) -> RenderableType:
    from rich.console import Group

    from gym_anything.cli.pool_tables import pools_table, replicas_table

    pools, found = _ask(), usage.sample()
    replicas = [(entry.name, one) for entry, status in pools for one in (status or {}).get("replicas", [])]
    parts = [pools_table(pools)]
    room = None if height is None else max(2, (height - _FRAMES - len(pools)) // 2)
    if replicas:
        parts.append(replicas_table(replicas, room))
    parts.append(_worlds_table(found, pools, room))
    return Group(*parts)


def _ask() -> Asked:
    from gym_anything.cli.pool_tables import status_of
    from gym_anything.pool.started.folder import find_pools

    return [(entry, status_of(entry)) for entry in find_pools()]


def pools_of(found: Sequence[Usage], pools: Asked) -> dict[int, str]:
    """Return the pools' names by the processes that own worlds: a pool's own, and those that it has started."""
    from gym_anything._util import proc

    names = {entry.pid: entry.name for entry, _ in pools}
    whose = {}
    for owner in {one.owner for one in found}:
        for pid in (owner, *proc.ancestors(owner)):
            if pid in names:
                whose[owner] = names[pid]
                break
    return whose


def _worlds_table(found: Sequence[Usage], pools: Asked, most: int | None) -> RenderableType:
    import time

    from rich.text import Text

    from gym_anything._util.labels import NO_WORLD
    from gym_anything.cli.pool_tables import mib, span, table

    if not found:
        return Text("No world runs here.")
    whose = pools_of(found, pools)
    busiest = sorted(found, key=lambda one: (one.cores or 0.0, one.pss_mib), reverse=True)
    rows = []
    for one in busiest[:most]:
        made = one.facts.get("created_at")
        age = span(time.time() - made) if isinstance(made, int | float) else ""
        what = " ".join(str(one.facts[name]) for name in _FACTS[:2] if one.facts.get(name))
        cores = "" if one.cores is None else f"{one.cores:.2f}"
        where = (
            whose.get(one.owner, ""),
            one.run,
            one.world,
            what or ("of the run" if one.world == NO_WORLD else "of another state folder"),
        )
        rows.append((*where, one.processes, cores, mib(one.pss_mib), age))
    total = f"{len(found)} in all: {sum(one.cores or 0.0 for one in found):.2f} processors, "
    total += mib(sum(one.pss_mib for one in found))
    headings = ("pool", "run", "world", "what", "processes", "processors", "PSS", "age")
    return table(headings, rows, caption=total)
