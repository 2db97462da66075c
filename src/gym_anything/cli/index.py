"""``gym-anything index``: the results of an experiment, brought into its index again."""

from __future__ import annotations

from pathlib import Path

import click

from gym_anything.cli.experiment_options import results_dir_option
from gym_anything.cli.output import json_option, print_json


@click.command()
@click.argument("exp")
@results_dir_option("Where experiments lie.")
@json_option
def index(exp: str, results_dir: str, as_json: bool) -> None:
    """Make the index of EXP (its name, or its folder) anew from the result folders: `index.sqlite` in its folder.

    Never needed: whoever reads results brings the index up to date first. It is there for other programs that read it.
    """  # fmt: skip
    from gym_anything.benchmark.results_index import ResultsIndex
    from gym_anything.benchmark.results_reading import find_experiment

    with ResultsIndex(find_experiment(exp, Path(results_dir))) as opened:
        found = opened.rebuild()
        path = None if opened.in_memory else opened.path
    if as_json:
        print_json(
            {
                "path": None if path is None else str(path),
                "finished": found.finished,
                "unfinished": list(found.unfinished),
            }
        )
        return
    where = path if path is not None else "nowhere: the folder cannot be written to"
    click.echo(f"{found.finished} finished runs, {len(found.unfinished)} without a result; index: {where}")
