"""``gym-anything agents``: what ``--agent`` can name."""

from __future__ import annotations

from typing import Any

import click

from gym_anything.cli.output import json_option, print_json, print_table


@click.command()
@json_option
def agents(as_json: bool) -> None:
    """List the agents that --agent can name. A locator (pkg.mod:Class) works without being listed.

    Exit code 1 when one of them does not load.
    """
    rows = _rows()
    if as_json:
        print_json({"agents": rows})
    else:
        cells = [(row["name"], row["about"] or f"NOT USABLE: {row['problem']}", row["source"]) for row in rows]
        print_table(("agent", "what it does", "from"), cells)
    if any(row["problem"] for row in rows):
        click.get_current_context().exit(1)


def _rows() -> list[dict[str, Any]]:
    from gym_anything.agents.registry import known_agents, resolve_agent
    from gym_anything.errors import PluginError

    rows = []
    for plugin in known_agents():
        row: dict[str, Any] = {
            "name": plugin.key,
            "class": plugin.address,
            "source": plugin.source,
            "about": None,
            "autonomous": None,
            "problem": plugin.conflict,
        }
        try:
            cls = resolve_agent(plugin.key)
            row["about"] = (cls.__doc__ or cls.__name__).strip().splitlines()[0]
            row["autonomous"] = bool(getattr(cls, "autonomous", False))
        except PluginError as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows
