"""``gym-anything bench``: what this machine reaches, beside the ways in use elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gym_anything.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.measure.desktop_report import ServerReport


@click.group()
def bench() -> None:
    """Measure parts of this package on this machine."""


@bench.command()
@click.option(
    "--rounds", type=click.IntRange(1), default=20, show_default=True, help="Turns of each way in each series."
)
@click.option(
    "--server", "servers", multiple=True, metavar="NAME", help="Only on this X server (repeatable; Xvnc and Xvfb)."
)
@json_option
def desktop(rounds: int, servers: tuple[str, ...], as_json: bool) -> None:
    """Measure screenshots, clicks, typing and steps against xdotool, Pillow, scrot, ImageMagick and pyautogui.

    Starts X servers of its own and leaves nothing. What is not installed is left out, and said.
    """
    from gym_anything.measure.desktop_report import CONDITIONS, measure_desktop, servers_here

    here = servers_here()
    unknown = [name for name in servers if name not in here]
    if unknown:
        raise click.UsageError(f"no X server {unknown[0]!r} here; there are {', '.join(here)}")
    reports = measure_desktop(servers or here, rounds, lambda text: click.echo(text, err=True))
    if as_json:
        print_json({"conditions": CONDITIONS, "rounds": rounds, "servers": [report.to_dict() for report in reports]})
        return
    for report in reports:
        print_table(("measured", "way", "p50", "max", "", "× ours"), _rows(report), title=report.server)
        for name, reason in report.skipped.items():
            click.echo(f"left out: {name}: {reason}")
        for name, count in report.wrong_texts.items():
            if count:
                click.echo(f"{name}: {count} texts arrived otherwise than typed")
    click.echo(CONDITIONS)


def _rows(report: ServerReport) -> Iterator[tuple[str, ...]]:
    from gym_anything.measure.desktop_report import unit_of

    for series, ways in report.to_dict()["series"].items():
        for number, (way, found) in enumerate(ways.items()):
            ratio = "" if found["times_ours"] in (None, 1.0) else f"{found['times_ours']:,.1f}"
            what = "" if number else series
            yield what, way, f"{found['p50']:,.3f}", f"{found['max']:,.3f}", unit_of(series), ratio
