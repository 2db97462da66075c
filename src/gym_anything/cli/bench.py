"""``gym-anything bench``: what this machine reaches, beside the ways in use elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.bench_fork import fork
from gym_anything.cli.bench_input_latency import input_latency
from gym_anything.cli.bench_pool import chaos, cost, disk, scale
from gym_anything.cli.bench_worlds import pool, recovery, utilisation
from gym_anything.cli.measuring import measuring
from gym_anything.cli.output import json_option, print_json, print_table
from gym_anything.measure.way import WAYS

if TYPE_CHECKING:
    from gym_anything.measure.desktop_report import ServerReport

_COLUMNS = ("measured", "way", "p50", "p95", "min", "", "× ours (95 %)", "")


@click.group()
def bench() -> None:
    """Measure parts of this package on this machine."""


for command in (input_latency, disk, cost, scale, chaos, fork, pool, recovery, utilisation):
    bench.add_command(command)


@bench.command()
@click.option("--rounds", type=click.IntRange(1), help="Turns of each way in each series.  [default: 20]")
@click.option("--quick", is_flag=True, help="Three rounds and short windows: a look, not a measurement.")
@click.option("--server", "servers", multiple=True, metavar="NAME", help="Only on this X server (repeatable).")
@click.option("--ways", metavar="WAY,…", help=f"Compare only with these of {', '.join(WAYS)}; ours is always measured.")
@json_option
def desktop(rounds: int | None, quick: bool, servers: tuple[str, ...], ways: str | None, as_json: bool) -> None:
    """Measure pictures, clicks, typing, steps, start, memory and processor against the ways in use elsewhere.

    The ways take turns in every round. Starts X servers of its own and leaves nothing. What is not installed is left
    out, and said.
    """
    from gym_anything.measure.desktop_report import QUICK, Effort, document, measure_desktop, servers_here

    if quick and rounds is not None:
        raise click.UsageError("--quick says how many rounds there are; leave out --rounds")
    effort = QUICK if quick else Effort() if rounds is None else Effort(rounds)
    wanted, here = _wanted_ways(ways), servers_here()
    unknown = [name for name in servers if name not in here]
    if unknown:
        raise click.UsageError(f"no X server {unknown[0]!r} here; there are {', '.join(here)}")
    with measuring() as on_news:
        reports = measure_desktop(list(dict.fromkeys(servers or here)), effort, wanted, on_news)
    found = document(reports, effort)
    if as_json:
        print_json(found)
        return
    for report in reports:
        print_table(_COLUMNS, _rows(report), title=report.server)
        for name, reason in report.skipped.items():
            click.echo(f"left out: {name}: {reason}")
    click.echo(found["conditions"])


def _wanted_ways(given: str | None) -> list[str]:
    chosen = list(WAYS) if given is None else [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in WAYS]
    if unknown:
        known = "\n".join(f"  {key:10} {what}" for key, what in WAYS.items())
        raise click.UsageError(f"no way {unknown[0]!r}; there are\n{known}")
    return chosen


def _rows(report: ServerReport) -> Iterator[tuple[str, ...]]:
    for series in report.to_dict()["series"].values():
        for number, way in enumerate(series["ways"].values()):
            numbers = (f"{way[key]:,.3f}" for key in ("p50", "p95", "min"))
            title = "" if number else series["title"]
            yield title, way["name"], *numbers, series["unit"], _ratio(way), _note(series, way)


def _ratio(way: dict[str, Any]) -> str:
    if way["times_ours"] is None:
        return ""
    if way["times_ours_95"] is None:
        return f"{way['times_ours']:,.1f}"
    low, high = way["times_ours_95"]
    return f"{way['times_ours']:,.1f} ({low:,.1f} to {high:,.1f})"


def _note(series: dict[str, Any], way: dict[str, Any]) -> str:
    turns, arrived = len(way["samples"]), way["arrived_fewest"]
    if arrived is not None:
        return f"{arrived:,} of {series['characters']:,} arrived; {turns - way['wrong']} of {turns} exact"
    return f"{way['wrong']} of {turns} turns were not right" if way["wrong"] else ""
