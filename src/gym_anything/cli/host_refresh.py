"""``gym-anything host refresh``: drain, reboot, return, every two days, by systemd."""

from __future__ import annotations

import os
import shlex
import sys

import click

from gym_anything.cli.output import json_option, print_error, print_json

NOT_NOW, WRONG = 1, 255
"""Exit codes of ``--step``, as systemd's ``ExecCondition`` takes them."""


@click.command()
@click.option("--print", "printing", is_flag=True, help="Print the systemd units.")
@click.option("--install", "installing", is_flag=True, help="Put the units in place and start the timer. As root.")
@click.option("--uninstall", "removing", is_flag=True, help="Stop the timer and remove the units. As root.")
@click.option(
    "--step", "stepping", is_flag=True, help="Do the next thing. Exit code 0: reboot now; 1: not now; 255: wrong."
)
@click.option("--return", "returning", is_flag=True, help="Start again the pools that were drained for a reboot.")
@click.option("--dry-run", is_flag=True, help="With --install or --uninstall: say what would be done.")
@click.option("--user", default=None, help="Whose pools they are.  [default: who calls, also through sudo]")
@json_option
def refresh(
    printing: bool,
    installing: bool,
    removing: bool,
    stepping: bool,
    returning: bool,
    dry_run: bool,
    user: str | None,
    as_json: bool,
) -> int:
    """Refresh this host every 48 hours: once it is idle its pools drain, it reboots, and they are started again.

    Without an option: say what the next step would be. Tasks get six hours to end; worlds that are of no pool are never
    ended, they put the reboot off. Before the pools return, what `host tune` and `host disk prepare` did is done again.
    All but that and the reboot runs as the user whose pools they are.
    """
    from gym_anything._util.state_dir import state_root
    from gym_anything.errors import GymAnythingError
    from gym_anything.pool.refresh import host
    from gym_anything.pool.refresh.decision import Act

    if sum((printing, installing, removing, stepping, returning)) > 1:
        raise click.UsageError("one thing at a time")
    if printing or installing or removing:
        return _units(installing, removing, dry_run, user)
    if not stepping and not returning:
        decision, facts, record = host.look(state_root())
        if as_json:
            print_json({"next": decision.act.value, "reason": decision.reason, "record": record.to_dict()})
        else:
            click.echo(f"{record.phase.value}; next: {decision.act.value}: {decision.reason}")
            click.echo(f"{facts.pools} pools, {facts.tasks} tasks, {facts.others} worlds of no pool")
        return 0
    try:
        decision = host.step(state_root()) if stepping else host.take_up(state_root())
    except GymAnythingError as error:
        print_error(error)
        return WRONG
    if as_json:
        print_json({"did": decision.act.value, "reason": decision.reason})
    else:
        click.echo(f"{decision.act.value}: {decision.reason}")
    return NOT_NOW if stepping and decision.act is not Act.REBOOT else 0


def _units(installing: bool, removing: bool, dry_run: bool, user: str | None) -> int:
    from gym_anything.pool.refresh import units

    if removing:
        found = [path for name in units.NAMES if (path := units.UNIT_FOLDER / name).exists()]
        for path in found if dry_run else units.uninstall():
            click.echo(f"{'would remove' if dry_run else 'removed'} {path}")
        return 0
    program = (sys.executable, "-P", "-m", "gym_anything.cli.main")
    user = user or units.default_user(os.environ)
    plan = units.UnitPlan(program, user, units.state_of(user), units.state_of("root"))
    if installing and not dry_run:
        units.install(plan)
        click.echo(f"{units.TIMER} looks every quarter of an hour; `gym-anything host refresh` says what is next")
        return 0
    for name, text in plan.units().items():
        click.echo(f"# {units.UNIT_FOLDER / name}\n{text}")
    for argv in units.install_commands() if installing else []:
        click.echo(f"would run: {shlex.join(argv)}")
    return 0
