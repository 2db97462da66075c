"""``gym-anything verify``: load specs, load whole benchmarks, prove tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.lazy_group import LazyGroup
from gym_anything.cli.output import json_option, make_console, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.benchmark.corpus import BenchmarkReport
    from gym_anything.benchmark.layout import Benchmark
    from gym_anything.cli.verify_plays import PlayedTask

_COUNTED = ("environments", "tasks", "splits", "checklists")


@click.group(
    cls=LazyGroup,
    lazy={"task": "gym_anything.cli.verify_task:task"},
    lazy_help={
        "corpus": "Load every environment, task and split under a folder.",
        "spec": "Load one environment, task or split file.",
        "task": "Prove that a task's verdict can be trusted.",
    },
)
def verify() -> None:
    """Check specs, benchmarks and tasks."""


@verify.command()
@click.argument("path", type=click.Path())
@json_option
def spec(path: str, as_json: bool) -> None:
    """Load the environment (with its tasks), task or split file at PATH.

    Exit code 1 when something does not load.
    """
    from gym_anything.benchmark.corpus import verify_path

    _finish([verify_path(path)], path, as_json, details=True)


@verify.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@json_option
@click.option("--details", is_flag=True, help="List every missing file, warning and remark, not only their number.")
@click.option("--prove", is_flag=True, help="Also play every task, as `verify task` does. Takes worlds and time.")
@click.option("--env", "envs", multiple=True, help="With --prove: only this environment (several times: these).")
@click.option("--task", "tasks", multiple=True, help="With --prove: only this task (several times: these).")
@click.option("--max-tasks", type=click.IntRange(1), default=None, help="With --prove: no more tasks than this.")
@click.option("--runner", default=None, help="With --prove: on this runner (key or locator).")
@click.option("--artifacts", default=None, type=click.Path(), help="With --prove: folder for the episodes' artifacts.")
def corpus(folder: str, as_json: bool, details: bool, prove: bool, **options: Any) -> None:
    """Load every environment, task and split of every benchmark under DIR.

    What does not load is listed file by file, and the exit code is 1. What is missing beside the specs (scripts,
    verifiers, mount sources) is reported apart: loading does not need it, running does.

    With --prove each task is played, too: doing nothing and near misses must fail, the solution must pass, verdicts
    must repeat, judges must touch nothing.
    """
    from gym_anything.benchmark.corpus import find_benchmarks_under
    from gym_anything.cli.verify_plays import Chosen, prove_benchmarks

    if not prove and any(options.values()):
        raise click.UsageError("--env, --task, --max-tasks, --runner and --artifacts need --prove")
    benchmarks = find_benchmarks_under(folder)
    reports = _verified(benchmarks)
    proofs = prove_benchmarks(benchmarks, Chosen(**options)) if prove else None
    _finish(reports, folder, as_json, details=details, proofs=proofs)


def _verified(benchmarks: list[Benchmark]) -> list[BenchmarkReport]:
    """Verify the benchmarks under a progress bar (on standard error, and only where a person looks)."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from gym_anything.benchmark.corpus import verify_benchmark

    console = make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    reports = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for benchmark in benchmarks:
            bar = progress.add_task(benchmark.name, total=len(benchmark.environments()))

            def step(env: str, bar: Any = bar, name: str = benchmark.name) -> None:
                progress.update(bar, advance=1, description=f"{name}: {env}")

            reports.append(verify_benchmark(benchmark, step))
    return reports


def _finish(
    reports: list[BenchmarkReport],
    path: str,
    as_json: bool,
    *,
    details: bool,
    proofs: list[PlayedTask] | None = None,
) -> None:
    ok = all(report.ok for report in reports) and all(played.ok for played in proofs or ())
    if as_json:
        loaded = {name: sum(report.loaded[name] for report in reports) for name in _COUNTED}
        body = {"ok": ok, "path": path, "loaded": loaded, "benchmarks": [report.as_dict() for report in reports]}
        if proofs is not None:
            body["proofs"] = [played.as_dict() for played in proofs]
        print_json(body)
    else:
        _print_table(reports)
        _print_broken(reports)
        _print_apart("missing beside the specs", ((m.kind, str(m)) for r in reports for m in r.missing), details)
        _print_apart("warnings", ((w.kind, str(w)) for r in reports for w in r.warnings), details)
        remarks = ((x.kind, f"{x.path}: {x.message}") for r in reports for x in r.remarks)
        _print_apart("remarks", remarks, details)
        if proofs is not None:
            from gym_anything.cli.verify_plays import print_played

            print_played(proofs)
    if not ok:
        click.get_current_context().exit(1)


def _print_table(reports: list[BenchmarkReport]) -> None:
    rows = [[r.name, *(r.loaded[name] for name in _COUNTED), len(r.broken)] for r in reports]
    if len(reports) > 1:
        totals = [sum(r.loaded[name] for r in reports) for name in _COUNTED]
        rows.append(["all", *totals, sum(len(r.broken) for r in reports)])
    print_table(["benchmark", *_COUNTED, "do not load"], rows)


def _print_broken(reports: list[BenchmarkReport]) -> None:
    for report in reports:
        for error in report.broken:
            click.echo(f"does not load: {error}")


def _print_apart(title: str, rows: Iterable[tuple[str, str]], details: bool) -> None:
    """Print how many of each kind there are, and each of them when details are asked for."""
    listed = list(rows)
    if not listed:
        return
    counts = Counter(kind for kind, _ in listed)
    click.echo(f"{title}: {len(listed)} ({', '.join(f'{n} {kind}' for kind, n in sorted(counts.items()))})")
    for _, text in listed if details else ():
        click.echo(f"  {text}")
