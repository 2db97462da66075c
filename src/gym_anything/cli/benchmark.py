"""``gym-anything benchmark``: many tasks, several at once, and the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.episode_options import episode_options
from gym_anything.cli.output import json_option, make_console, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.benchmark.layout import Benchmark
    from gym_anything.benchmark.plan import Plan
    from gym_anything.benchmark.report import Report
    from gym_anything.benchmark.result_row import ResultRow
    from gym_anything.benchmark.results import FinishedRun, ResultsFolder


@click.command()
@click.argument("env")
@click.option("--benchmark", default=None, help="Name, package or folder; see `gym-anything list`.")
@click.option(
    "--split", default="all", show_default=True, help="Which tasks: all, train, test, disk, or another split."
)
@click.option(
    "--surface",
    type=click.Choice(["raw", "verified"]),
    default="raw",
    show_default=True,
    help="All tasks of the split, or those that verified.json lists.",
)
@click.option("--task", "tasks", multiple=True, help="Only this task, or a pattern such as 'edit_*'; repeatable.")
@click.option(
    "--parallel", "--jobs", "jobs", type=click.IntRange(1), default=1, show_default=True, help="Episodes at once."
)
@click.option("--max-tasks", type=click.IntRange(1), default=None, help="At most so many tasks, the first ones.")
@click.option("--min-runs", type=click.IntRange(1), default=1, show_default=True, help="Runs of each task.")
@click.option("--skip-existing", is_flag=True, help="Count finished runs that are there already; play what is missing.")
@click.option(
    "--retries",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Begin an episode again whose set-up broke, so often; nothing else is tried again.",
)
@click.option("--exp", default=None, help="Name of the experiment, for the results folder. Default: the benchmark's.")
@click.option("--dry-run", is_flag=True, help="Print what would be played, and stop.")
@episode_options
@json_option
def benchmark(env: str, benchmark: str | None, as_json: bool, dry_run: bool, jobs: int, **options: Any) -> None:
    """Let an agent play the tasks of ENV (a name in the benchmark, its folder, or `all`) and print the table.

    Each episode runs in a process of its own, bounded from outside. What would break all of them (an agent that cannot
    be made, an unknown runner, a judge whose model is not configured) is refused before any world starts; an episode
    for which there is no memory waits. Results are kept as they come; --skip-existing goes on where an earlier run was
    cut off. Ctrl-C once lets running episodes finish, twice stops now.

    Exit code 1 when an episode was broken or could not be planned, or did not end as --expect says.
    """
    from gym_anything.benchmark.results import ResultsFolder

    found, env = _find(env, benchmark)
    results = ResultsFolder(Path(options["results_dir"]), options["exp"] or found.name)
    plan = _plan(env, found, results, options)
    if dry_run:
        _print_plan(plan, as_json)
        return
    report, interrupted = _play(plan, results, jobs, options["retries"], quiet=as_json)
    if as_json:
        place = {"benchmark": found.name, "exp": results.exp, "results_dir": str(results.exp_dir)}
        print_json({**place, **report.as_dict()})
    else:
        _print_report(report, results)
    context = click.get_current_context()
    if interrupted:
        context.exit(130)
    if not _is_fine(report, options["expect"]):
        context.exit(1)


def _find(env: str, reference: str | None) -> tuple[Benchmark, str]:
    """Return the benchmark and the environment's name in it; an environment's folder says both."""
    from gym_anything.benchmark.layout import Benchmark, find_benchmark, has_env_file

    folder = Path(env).expanduser().absolute()
    if reference is None and folder.parent.name == "environments" and has_env_file(folder):
        return Benchmark(folder.parent.parent.name, folder.parent.parent), folder.name
    return find_benchmark(reference), env


def _plan(env: str, found: Benchmark, results: ResultsFolder, options: dict[str, Any]) -> Plan:
    from gym_anything.benchmark.plan import Choice, plan_benchmark
    from gym_anything.cli.episode_options import request_template

    choice = Choice(
        env=env,
        split=options["split"],
        surface=options["surface"],
        tasks=options["tasks"],
        max_tasks=options["max_tasks"],
        min_runs=options["min_runs"],
        skip_existing=options["skip_existing"],
    )
    return plan_benchmark(found, choice, request_template(options), results)


def _play(plan: Plan, results: ResultsFolder, jobs: int, retries: int, *, quiet: bool) -> tuple[Report, bool]:
    from gym_anything.benchmark.execute import execute
    from gym_anything.benchmark.forking_executor import ForkingExecutor
    from gym_anything.benchmark.preflight import check_configuration
    from gym_anything.benchmark.process_executor import ProcessExecutor
    from gym_anything.benchmark.report import Report, replaced_tries
    from gym_anything.benchmark.results_index import ResultsIndex
    from gym_anything.benchmark.stop_signal import StopSignal
    from gym_anything.cli.interrupts import interrupts_stop
    from gym_anything.cli.progress import RunProgress
    from gym_anything.errors import Aborted
    from gym_anything.pool.episode_gate import MemoryGate

    stop = StopSignal()
    progress = RunProgress(len(plan.requests), quiet=quiet)
    played: list[FinishedRun] = []
    remarks: tuple[str, ...] = ()
    with interrupts_stop(stop, first_says="no new episodes; waiting for those that run."):
        try:
            found = check_configuration(plan.requests, ProcessExecutor(), stop=stop)
            remarks = found.remarks
            for line in () if quiet else remarks:  # before anything is paid for; the report has them, too
                click.echo(f"remark: {line}", err=True)
            with ForkingExecutor(found.modules) as executor, progress:
                played = execute(
                    plan.requests,
                    executor,
                    results,
                    jobs=jobs,
                    retries=retries,
                    admission=MemoryGate(),
                    stop=stop,
                    on_news=progress.news,
                )
        except Aborted:
            pass  # stopped before anything began: the report says that nothing was played
    rows: list[ResultRow]
    runs, rows = (*plan.existing, *played), []
    if results.exp_dir.is_dir():
        with ResultsIndex(results.exp_dir) as index:
            index.refresh()
            rows = index.rows()
    cut_off, replaced = len(plan.requests) - len(played), replaced_tries(runs, rows, results.exp_dir)
    return Report(runs, len(plan.existing), plan.problems, (*plan.remarks, *remarks), cut_off, replaced), stop.finishing


def _is_fine(report: Report, expect: str | None) -> bool:
    statuses = {run.record.outcome.status for run in report.runs}
    wanted = statuses <= {expect} if expect else "broken" not in statuses
    return wanted and not report.problems


def _print_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        episodes = [request.public() for request in plan.requests]
        facts = {"already": len(plan.existing), "problems": plan.problems, "remarks": plan.remarks}
        print_json({"episodes": episodes, **facts})
        return
    for request in plan.requests:
        click.echo(request.label)
    for line in (*plan.problems, *plan.remarks):
        click.echo(f"remark: {line}", err=True)


def _print_report(report: Report, results: ResultsFolder) -> None:
    from rich.text import Text

    from gym_anything.benchmark.report import HEADINGS
    from gym_anything.cli.progress import COLOURS

    rows: list[list[Any]] = [list(row) for row in report.rows()]
    for row in rows:
        row[2] = Text(row[2], style=COLOURS.get(row[2].split()[0], ""))
    if rows:
        print_table(HEADINGS, rows)
    console = make_console()
    console.print(Text(report.summary_line()), soft_wrap=True)
    for kind, lines in (("problem", report.problems), ("remark", report.remarks)):
        for line in lines:
            console.print(Text(f"{kind}: {line}"), soft_wrap=True)
    console.print(Text(f"results: {results.exp_dir}"), soft_wrap=True)
