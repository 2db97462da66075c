"""``gym-anything validate``: check an environment without starting it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym_anything.cli.output import json_option, print_error, print_json
from gym_anything.errors import SpecError

if TYPE_CHECKING:
    from gym_anything.benchmark.env_check import EnvCheck


@click.command()
@click.argument("env")
@click.option("--task", default=None, help="Check this task (its folder's name) only; all of them otherwise.")
@click.option("--benchmark", default=None, help="Benchmark that ENV is a name in; see `gym-anything list`.")
@click.option("--runner", default=None, help="Ask this runner (key or locator) instead of the one that would be used.")
@json_option
def validate(env: str, task: str | None, benchmark: str | None, runner: str | None, as_json: bool) -> None:
    """Load ENV (a folder, a file, or a name in a benchmark), its preset and tasks, and ask its runner about it.

    Exit code 1 when something forbids a start. Warnings, files that are missing beside the specs, and fields that the
    runner cannot enforce are listed apart.
    """
    from gym_anything.benchmark.env_check import check_env
    from gym_anything.benchmark.layout import find_env_dir
    from gym_anything.specs.reading import is_file

    place = Path(env) if is_file(Path(env)) and benchmark is None else find_env_dir(env, benchmark)
    try:
        check = check_env(place, task, runner)
    except SpecError as error:
        if error.blame == "caller":
            raise
        print_json({"ok": False, "file": str(place), "problems": [error.to_wire()]}) if as_json else print_error(error)
        click.get_current_context().exit(1)
    if as_json:
        print_json(check.as_dict())
    else:
        _print(check)
    if not check.ok:
        click.get_current_context().exit(1)


def _print(check: EnvCheck) -> None:
    spec, runner = check.env.spec, check.runner
    size = spec.screen_size
    click.echo(f"{check.env.file}: {spec.id}")
    click.echo(f"  system:  {spec.os_type}{f', preset {spec.base}' if spec.base else ''}")
    click.echo(f"  screen:  {f'{size[0]}x{size[1]}' if size else 'as the runner has it'}")
    click.echo(f"  tasks:   {len(check.tasks)} load")
    if runner.check is not None:
        click.echo(f"  runner:  {runner.name} (from {runner.source})")
    else:
        click.echo(f"  runner:  {runner.name or 'none'}: not asked: {runner.note.splitlines()[0]}")
    here = f"{check.env.root}/"
    _section("problems", [str(problem).replace(here, "") for problem in check.problems])
    _section("runner options", list(check.option_errors))
    unenforced = runner.check.unenforced if runner.check is not None else ()
    _section("not enforced by the runner", [f"{field.field}: {field.reason}" for field in unenforced])
    _section("missing beside the specs (running needs them)", [str(m).replace(here, "") for m in check.missing])
    _section("warnings", [str(warning).replace(here, "") for warning in check.warnings])
    click.echo("ok" if check.ok else "not ok")


def _section(title: str, lines: list[str]) -> None:
    if lines:
        click.echo(f"{title}:")
    for line in lines:
        click.echo(f"  - {line}")
