"""``gym-anything run``: one episode, its verdict, and where its artifacts lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.episode_options import episode_options
from gym_anything.cli.output import json_option, make_console, print_json

if TYPE_CHECKING:
    from gym_anything.benchmark.episode_request import EpisodeRequest
    from gym_anything.benchmark.results import FinishedRun


@click.command()
@click.argument("env")
@click.option("--task", default=None, help="The task's folder name. Default: the only task there is.")
@click.option("--benchmark", default=None, help="Benchmark that ENV is a name in; see `gym-anything list`.")
@click.option("--exp", default="single", show_default=True, help="Name of the experiment, for the results folder.")
@episode_options
@json_option
def run(env: str, task: str | None, benchmark: str | None, exp: str, as_json: bool, **options: Any) -> None:
    """Let an agent play one episode of ENV (a folder, or a name in a benchmark) and print the verdict.

    Exit code 0 when the task was passed (or ended as --expect says), 1 otherwise. Ctrl-C once ends the episode and
    judges it as it stands, twice stops now.
    """
    from gym_anything.benchmark.execute import execute
    from gym_anything.benchmark.process_executor import ProcessExecutor
    from gym_anything.benchmark.results import ResultsFolder
    from gym_anything.benchmark.stop_signal import StopSignal
    from gym_anything.cli.interrupts import interrupts_stop
    from gym_anything.cli.progress import RunProgress

    request = _request(env, task, benchmark, options)
    stop = StopSignal()
    echo = options["verbose"] or options["debug"]
    executor = ProcessExecutor(finish_early=True, echo=echo)
    results = ResultsFolder(Path(options["results_dir"]), exp)
    request = replace(request, attempt=results.free_attempts(request, 1)[0])
    progress = RunProgress(1, quiet=as_json or echo)
    with interrupts_stop(stop, first_says="ending the episode; it is judged as it stands."), progress:
        played = execute([request], executor, results, stop=stop, on_news=progress.news)
    context = click.get_current_context()
    if not played:
        click.echo("stopped; there is no result", err=True)
        context.exit(130)
    _print(played[0], as_json)
    if stop.finishing:
        context.exit(130)
    if played[0].record.outcome.status != (options["expect"] or "passed"):
        context.exit(1)


def _request(env: str, task: str | None, benchmark: str | None, options: dict[str, Any]) -> EpisodeRequest:
    """Return the request; raises for an environment or task that does not exist or does not load."""
    from gym_anything.benchmark.layout import find_env_dir
    from gym_anything.cli.episode_options import request_template
    from gym_anything.errors import SpecNotFound
    from gym_anything.specs.loading import list_tasks, load_env, load_task, single_task

    env_dir = find_env_dir(env, benchmark)
    load_env(env_dir)
    task = task or single_task(env_dir)
    if task is None:
        there = ", ".join(list_tasks(env_dir)) or "none"
        raise SpecNotFound(f"name a task of {env_dir.name} with --task; there are: {there}", detail={"key": "task"})
    load_task(env_dir, task)
    template = request_template(options)
    return replace(template, env_dir=str(env_dir), env=env_dir.name, task=task, benchmark=benchmark or "")


def _print(played: FinishedRun, as_json: bool) -> None:
    from gym_anything.benchmark.report import episode_dict

    if as_json:
        print_json(episode_dict(played))
        return
    from rich.text import Text

    from gym_anything.cli.progress import COLOURS

    record, outcome = played.record, played.record.outcome
    console = make_console()
    line = Text(outcome.status.upper(), style=f"bold {COLOURS[outcome.status]}")
    blame = f" ({outcome.blame})" if outcome.is_broken else f"  score {outcome.score:g}"
    line.append(f"{blame}  {record.request['env']}/{record.request['task']}", style="not bold default")
    line.append(f"  {record.steps} steps, {record.duration_s:.1f} s", style="not bold default")
    console.print(line)
    if outcome.story:
        console.print(Text(outcome.story))
    details = {
        "ended by": record.reason,
        "runner": record.runner,
        "log": played.run_dir / "worker.log" if outcome.is_broken else None,
        "artifacts": played.run_dir / record.episode_dir if record.episode_dir else played.run_dir,
    }
    for name, value in details.items():
        if value:
            console.print(Text(f"  {name}: {value}"), soft_wrap=True)
    for warning in record.warnings:
        console.print(Text(f"  warning: {warning}"))
