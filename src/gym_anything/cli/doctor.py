"""``gym-anything doctor``: what this machine can do, tried, with a fix for what it cannot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gym_anything.cli.output import json_option, make_console, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.doctor.check import Check, Report


_LEAST_S = 2.0
"""For the trials, however long this process took to come so far."""


@click.command()
@click.option("--fix", "repair", is_flag=True, help="First build our native programs that are missing.")
@click.option(
    "--runner",
    "locators",
    multiple=True,
    metavar="KEY|PKG.MOD:CLASS",
    help="Also ask this runner (repeatable). All registered ones are asked anyway.",
)
@click.option("--limit", "limit_s", type=click.FloatRange(0.1), default=None, help="Seconds for all trials (5).")
@click.option("--all", "show_all", is_flag=True, help="Show what is fine in full, not only what is not.")
@json_option
def doctor(repair: bool, locators: Sequence[str], limit_s: float | None, show_all: bool, as_json: bool) -> int:
    """Try what worlds need from this machine and show what fails, each with its fix as a command line.

    Exit code 1 when something required fails (then no world of any kind can run) or a runner that --runner names
    cannot work here.
    """
    from gym_anything._util import proc
    from gym_anything.doctor import doctor as examination
    from gym_anything.doctor.check import Report
    from gym_anything.doctor.examination import LIMIT_S

    # In a source checkout, where the C sources change, a missing build is made as everywhere else.
    repaired = examination.repair() if repair or examination.is_checkout() else []
    report = examination.diagnose(locators, limit_s=limit_s or max(_LEAST_S, LIMIT_S - proc.age_s()))
    asked = {f"runner:{name}" for name in locators}
    checks = (replace(check, required=True) if check.name in asked else check for check in report.checks)
    report = Report((*repaired, *checks))
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report, show_all, asked)
    return 0 if report.ok and all(check.ok for check in repaired) else 1


def _print(report: Report, show_all: bool, asked: Collection[str]) -> None:
    from rich.text import Text

    failed = [check for check in report.checks if not check.ok]
    shown = [check for check in report.checks if show_all or not check.ok or not _is_part(check)]
    print_table(
        ("", "check", "found"),
        [(_mark(check), Text(check.name, style="bold" if check.required else ""), check.detail) for check in shown],
    )
    console = make_console()
    if failed:
        console.print("\nFixes:", style="bold")
    for check in failed:
        if check.fix:
            console.print(Text.assemble((f"  {check.name}: ", "dim"), check.fix), soft_wrap=True)
    required = [check.name for check in failed if check.required]
    if required:
        told = (
            "What you asked for cannot run here" if all(name in asked for name in required) else "No world can run here"
        )
        console.print(Text(f"\n{told}: {', '.join(required)}.", style="bold red"))
    else:
        others = f" {len(failed)} of {len(report.checks)} checks failed, none of them required." if failed else ""
        console.print(Text(f"\nWorlds can run here.{others}", style="bold green"))


def _is_part(check: Check) -> bool:
    """Tell whether a row is one of many of its kind, worth a line only when it fails."""
    return check.name.partition(":")[0] in ("need", "limit")


def _mark(check: Check) -> object:
    from rich.text import Text

    if check.ok:
        return Text("ok", style="green")
    return Text("FAIL", style="bold red") if check.required else Text("no", style="yellow")
