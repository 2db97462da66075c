"""``gym-anything report``: what an experiment comes to, and whether another one was different."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym_anything.cli.experiment_options import results_dir_option
from gym_anything.cli.output import json_option, make_console, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.benchmark.report_tables import ReportTable

_GROUPS = ["env", "difficulty", "tag", "task", "split", "runner"]


@click.command()
@click.argument("exp")
@results_dir_option("Where results lie; EXP may also be an experiment's folder.")
@click.option("--model", "models", multiple=True, help="Only this model; repeatable.")
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(_GROUPS),
    help="Tables to print; repeatable. Default: env, difficulty, tag.",
)
@click.option(
    "--k",
    "ks",
    multiple=True,
    type=click.IntRange(1),
    help="Print pass@K; repeatable. Default: the number of runs that every task has.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--against", default=None, metavar="EXP", help="Compare with this experiment, task by task.")
@click.option("--against-model", default=None, help="Model of that experiment.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@json_option
def report(
    exp: str,
    results_dir: str,
    models: tuple[str, ...],
    by: tuple[str, ...],
    ks: tuple[int, ...],
    confidence: float,
    against: str | None,
    against_model: str | None,
    form: str,
    as_json: bool,
) -> None:
    """Print what experiment EXP comes to: passed, failed, broken, how sure the rate is, pass@k, time.

    Broken runs are counted and are in no rate. An attempt that was tried again counts once. --against names an earlier
    experiment: tasks are compared one by one, and p says how likely chance alone makes such a difference.
    """
    from gym_anything.benchmark.experiment_report import DEFAULT_GROUPS, report_experiment
    from gym_anything.benchmark.report_tables import markdown, report_tables
    from gym_anything.benchmark.results_reading import find_experiment, read_experiment

    if against is None and against_model is not None:
        against = exp  # two models of one experiment
    root, console = Path(results_dir), make_console(stderr=True)
    with console.status("reading results") if console.is_terminal else nullcontext():
        mine = read_experiment(find_experiment(exp, root))
        other = (read_experiment(find_experiment(against, root)), against_model) if against is not None else None
    found = report_experiment(mine, models=models, by=by or DEFAULT_GROUPS, ks=ks, confidence=confidence, against=other)
    if as_json or form == "json":
        print_json(found.as_dict())
    elif form == "markdown":
        click.echo(markdown(report_tables(found)), nl=False)
    else:
        _print(report_tables(found))


def _print(tables: list[ReportTable]) -> None:
    from rich.text import Text

    console = make_console()
    for table in tables:
        if table.rows:
            print_table(table.headings, table.rows, title=table.title)
        else:
            console.print(Text(table.title))
        for note in table.notes:
            console.print(Text(note), soft_wrap=True)
