"""``gym-anything list``: benchmarks, environments, tasks and splits, broken ones by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.benchmark.layout import Benchmark
    from gym_anything.benchmark.splits import Splits

_PROMPT_CHARACTERS = 100


@click.command("list")
@click.argument("what", type=click.Choice(["benchmarks", "envs", "tasks", "splits"]), default="benchmarks")
@click.option("--benchmark", default=None, help="Name, package or folder. Default: the only one there is.")
@click.option("--env", default=None, help="Only this environment; its tasks are read, not only named.")
@click.option("--split", default="disk", show_default=True, help="For tasks: those of this split.")
@click.option("--surface", type=click.Choice(["raw", "verified"]), default="raw", show_default=True)
@json_option
def list_(what: str, benchmark: str | None, env: str | None, split: str, surface: Any, as_json: bool) -> None:
    """List benchmarks (the default), or the envs, tasks or splits of one.

    What does not load is listed with its error; it hides nothing else.
    """
    from gym_anything.benchmark.layout import find_benchmark
    from gym_anything.benchmark.splits import load_splits

    if what == "benchmarks":
        rows = _benchmarks(benchmark)
    else:
        found = find_benchmark(benchmark)
        envs = [found.env_dir(env).name] if env else found.environments()
        splits = load_splits(found)
        if what == "envs":
            rows = [_env_row(found, name) for name in envs]
        elif what == "splits":
            rows = [row for name in envs for row in _split_rows(splits, name)]
        else:
            rows = [row for name in envs for row in _task_rows(splits, name, split, surface, read=env is not None)]
        rows += [{"error": str(error)} for error in splits.errors]
    if as_json:
        print_json({what: rows})
    else:
        _print(rows)


def _benchmarks(reference: str | None) -> list[dict[str, Any]]:
    from gym_anything.benchmark.layout import Benchmark, find_benchmark, known_benchmarks

    known = [find_benchmark(reference)] if reference else [Benchmark(*item) for item in known_benchmarks().items()]
    return [{"benchmark": b.name, "environments": len(b.environments()), "root": str(b.root)} for b in known]


def _env_row(found: Benchmark, env: str) -> dict[str, Any]:
    from gym_anything.errors import SpecError
    from gym_anything.specs.loading import load_env

    row: dict[str, Any] = {"env": env, "tasks": len(found.tasks(env)), "system": None, "runner": None, "about": None}
    try:
        spec = load_env(found.env_dir(env)).spec
        row |= {"system": spec.os_type, "runner": spec.runner, "about": _shortened(spec.description or "")}
    except SpecError as error:
        row["error"] = str(error)
    return row


def _split_rows(splits: Splits, env: str) -> list[dict[str, Any]]:
    from gym_anything.errors import SpecError

    try:
        selections = [splits.select(env, name) for name in splits.names(env)]
    except SpecError as error:
        return [{"env": env, "split": None, "tasks": None, "error": str(error)}]
    return [{"env": env, "split": each.split, "tasks": len(each.tasks), "gone": len(each.gone)} for each in selections]


def _task_rows(splits: Splits, env: str, split: str, surface: Any, *, read: bool) -> list[dict[str, Any]]:
    from gym_anything.errors import SpecError
    from gym_anything.specs.loading import load_task

    try:
        selection = splits.select(env, split, surface)
    except SpecError as error:
        return [{"env": env, "task": None, "error": str(error)}]
    rows: list[dict[str, Any]] = []
    for task in selection.tasks:
        row: dict[str, Any] = {"env": env, "task": task}
        if read:
            try:
                spec = load_task(splits.benchmark.env_dir(env), task).spec
                row |= {"difficulty": spec.difficulty, "prompt": _shortened(spec.prompt)}
            except SpecError as error:
                row["error"] = str(error)
        rows.append(row)
    return rows + [
        {"env": env, "task": task, "error": "listed, but there is no such folder"} for task in selection.gone
    ]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _PROMPT_CHARACTERS else line[: _PROMPT_CHARACTERS - 1] + "…"


def _print(rows: list[dict[str, Any]]) -> None:
    if not rows:
        click.echo("none")
        return
    headings = list(dict.fromkeys(key for row in rows for key in row))
    headings.sort(key=lambda key: key == "error")  # the long one last
    shown = [key for key in headings if any(row.get(key) not in (None, "") for row in rows)]
    print_table(shown, [[row.get(key) for key in shown] for row in rows])
