"""``gym-anything export``: an experiment's trajectories as data for training and analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym_anything.cli.experiment_options import results_dir_option
from gym_anything.cli.output import json_option, make_console, print_json

if TYPE_CHECKING:
    from gym_anything.data.export import ExportSummary


@click.command()
@click.argument("exp")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sft", "parquet", "hf"]),
    required=True,
    help="sft: conversations as JSON lines; parquet: typed tables; hf: a data set with its pictures.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder to make. Default: EXP-FORMAT in the working folder.",
)
@results_dir_option("Where results lie; EXP may also be an experiment's folder.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(["passed", "failed", "broken"]),
    help="Episodes that ended so; repeatable. Default: passed and failed.",
)
@click.option("--interrupted", is_flag=True, help="Also episodes that a person stopped.")
@click.option("--model", "models", multiple=True, help="Only this model; repeatable.")
@click.option("--env", "envs", multiple=True, help="Only this environment; repeatable.")
@click.option("--task", "tasks", multiple=True, help="Only this task; repeatable.")
@click.option(
    "--allow-missing-pictures",
    is_flag=True,
    help="sft and hf: also episodes of which not every picture was kept (played with --fast-io).",
)
@json_option
def export(
    exp: str,
    form: str,
    out: Path | None,
    results_dir: str,
    statuses: tuple[str, ...],
    interrupted: bool,
    models: tuple[str, ...],
    envs: tuple[str, ...],
    tasks: tuple[str, ...],
    allow_missing_pictures: bool,
    as_json: bool,
) -> None:
    """Write the episodes of experiment EXP into a new folder.

    One episode for each attempt, the one that counts. Broken and interrupted ones are left out unless they are asked
    for; what is left out is counted. The folder appears when it is complete.
    """
    from gym_anything.benchmark.results_reading import find_experiment, read_experiment
    from gym_anything.data.export import export as write
    from gym_anything.data.sources import JUDGED, Choice, LeftOut, trajectories_of

    experiment = read_experiment(find_experiment(exp, Path(results_dir)))
    choice = Choice(statuses or JUDGED, interrupted, models, envs, tasks)
    left_out = LeftOut()
    with _progress() as on_episode:
        found = write(
            trajectories_of(experiment, choice, left_out, on_episode),
            out if out is not None else Path(f"{experiment.name}-{form}"),
            form,  # type: ignore[arg-type]  # click checked it
            allow_missing=allow_missing_pictures,
            left_out=left_out,
        )
    if as_json:
        print_json(found.as_dict())
    else:
        _print(found)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], object]]:
    """Show a bar on a terminal."""
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("episodes"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("episodes", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def _print(found: ExportSummary) -> None:
    click.echo(f"{found.episodes} episodes, {found.steps} steps: {found.folder}")
    for reason, count in found.left_out.items():
        click.echo(f"left out: {count} {reason}")
    for story in found.stories:
        click.echo(f"  {story}", err=True)
