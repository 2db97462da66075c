"""``gym-anything compatibility``: what each kind of world can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gym_anything.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.runtime.runners.compatibility import RunnerCompatibility

_ABILITIES = {
    "fast_io": "fast I/O",
    "checkpoint_caching": "caching",
    "savevm": "savevm",
    "fork": "forks",
    "live_recording": "recording",
    "time_control": "own clock",
    "acks_input_delivery": "input acknowledged",
}
_WORDS = {True: "yes", False: "no", None: "depends on the spec"}


@click.command()
@click.argument("runners", nargs=-1, metavar="[KEY|PKG.MOD:CLASS]...")
@json_option
def compatibility(runners: Sequence[str], as_json: bool) -> None:
    """Show what each runner supports: all registered ones, or those named."""
    from gym_anything.runtime.runners.facts import get_runner_compatibility, get_runner_compatibility_matrix

    rows = {name: get_runner_compatibility(name) for name in runners} if runners else get_runner_compatibility_matrix()
    if as_json:
        print_json({name: row.to_dict() for name, row in rows.items()})
        return
    print_table(
        ("runner", "platforms", *_ABILITIES.values()),
        [(name, ", ".join(row.platforms) or "-", *_abilities(row)) for name, row in rows.items()],
    )
    for name, row in rows.items():
        for note in row.notes:
            click.echo(f"{name}: {note}")


def _abilities(row: RunnerCompatibility) -> list[str]:
    return [_WORDS.get(getattr(row, ability), str(getattr(row, ability))) for ability in _ABILITIES]
