"""``gym-anything host``: whether this machine can carry very many worlds, and how to make it so."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.lazy_group import LazyGroup
from gym_anything.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from gym_anything.pool.host_limits import LimitChange, LimitState
    from gym_anything.pool.host_process_limits import ProcessLimit


@click.group(
    cls=LazyGroup,
    lazy={"refresh": "gym_anything.cli.host_refresh:refresh"},
    lazy_help={"refresh": "Drain, reboot and return every two days, by systemd."},
)
def host() -> None:
    """Read and raise what bounds the number of worlds on this machine."""


@host.command()
@json_option
def check(as_json: bool) -> int:
    """Read the limits that hundreds of worlds meet first. Exit code 1 when one is too low for them.

    Those of the kernel are raised by `host tune`; those of who started this process (login, service, container) are
    raised there, and it is said how.
    """
    from gym_anything.pool.host_limits import read_limits
    from gym_anything.pool.host_process_limits import read_process_limits

    states, ours = read_limits(), read_process_limits()
    kernel_good = all(one.enough for one in states)
    good = kernel_good and all(one.is_enough for one in ours)
    if as_json:
        facts = [{**asdict(one.limit), "value": one.value, "ok": one.enough} for one in states]
        print_json(
            {"limits": facts, "process_limits": [asdict(one) | {"ok": one.is_enough} for one in ours], "ok": good}
        )
    else:
        rows = [_row(one) for one in states] + [_process_row(one) for one in ours]
        print_table(("limit", "now", "enough for hundreds", "", "why"), rows)
        if not kernel_good:
            click.echo("Raise what is low: sudo gym-anything host tune")
        for one in ours:
            if not one.is_enough:
                click.echo(f"Raise {one.name}: {one.fix}")
    return 0 if good else 1


@host.command()
@click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing.")
@json_option
def tune(dry_run: bool, as_json: bool) -> int:
    """Raise the limits that are too low, until the next boot; none is lowered. As root.

    `host undo` puts them back; `host restore` raises them again after a boot.
    """
    from gym_anything._util.state_dir import state_root
    from gym_anything.pool.host_limits import raise_limits

    return _report(raise_limits(state_root(), dry_run=dry_run), "Nothing is too low.", dry_run, as_json)


@host.command()
@click.option("--dry-run", is_flag=True, help="Say what would be put back, and change nothing.")
@json_option
def undo(dry_run: bool, as_json: bool) -> int:
    """Put back what `host tune` changed; what somebody else has changed since is left."""
    from gym_anything._util.state_dir import state_root
    from gym_anything.pool.host_limits import undo_limits

    return _report(undo_limits(state_root(), dry_run=dry_run), "Nothing was changed by `host tune`.", dry_run, as_json)


@host.command()
@json_option
def restore(as_json: bool) -> int:
    """Apply again, after a boot, what `host tune` has raised and `host disk prepare` has mounted. As root.

    What is in force already is left. Exit code 1 when something could not be done; the rest is done all the same.
    """
    from gym_anything._util.state_dir import state_root
    from gym_anything.pool.host_disk import restore_disks
    from gym_anything.pool.host_limits import restore_limits

    changes, disks = restore_limits(state_root()), restore_disks(state_root())
    good = not any([*(change.problem for change in changes), *(one.problem for one in disks)])
    if as_json:
        print_json({"changes": _change_rows(changes), "disks": [asdict(one) for one in disks], "ok": good})
    elif not changes and not disks:
        click.echo("Nothing is missing.")
    for change in () if as_json else changes:
        click.echo(f"{change.name}: {change.problem or f'{change.before} -> {change.after}'}")
    for one in () if as_json else disks:
        click.echo(f"{one.folder}: {one.problem or 'mounted'}")
    return 0 if good else 1


@host.group()
def disk() -> None:
    """A file system that shares blocks, for the disks of replicas."""


@disk.command("check")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def check_disk(folder: Path, as_json: bool) -> int:
    """Try whether disks in FOLDER cost nothing: clone a small file. Exit code 1 when no blocks are shared there.

    Says, too, where writes take more space than they need, and which files right in FOLDER are too scattered for bases.
    """
    from gym_anything.pool.host_disk_check import examine_folder

    state = examine_folder(folder)
    shares = state.shares
    if as_json:
        facts = {"cow_hint_bytes": state.cow_hint_bytes, "scattered": dict(state.scattered), "unread": state.unread}
        print_json({"folder": str(folder), "reflink": shares, **facts})
    elif shares:
        click.echo(f"{folder} shares blocks: a disk for a replica is made in a millisecond and takes no space.")
    else:
        click.echo(
            f"{folder} shares no blocks: replicas get layers above the base, or copies. "
            "XFS and Btrfs do; `gym-anything host disk prepare` makes an XFS."
        )
    for remark in () if as_json else state.remarks():
        click.echo(remark)
    return 0 if shares else 1


@disk.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="Make it in this new file.")
@click.option(
    "--size-gb", type=click.FloatRange(0.3), default=64.0, show_default=True, help="Of the file; it is sparse."
)
@click.option(
    "--device", "devices", multiple=True, metavar="DEV", help="Make it on this empty device; several: one stripe."
)
@click.option("--dry-run", is_flag=True, help="Print the commands and run none.")
def prepare(folder: Path, file: Path | None, size_gb: float, devices: tuple[str, ...], dry_run: bool) -> None:
    """Make an XFS that shares blocks and mount it at FOLDER. Needs root.

    What has a file system already is refused. After a boot `host restore` mounts it again.
    """
    from gym_anything._util.state_dir import state_root
    from gym_anything.pool.host_disk import DiskPlan, prepare_disk

    if (file is None) == (not devices):
        raise click.UsageError("give --file or --device")
    size_mib = 0 if file is None else round(size_gb * 1024)
    plan = DiskPlan(folder.absolute(), file and file.absolute(), size_mib, devices)
    if dry_run:
        for step in plan.steps():
            click.echo(f"{shlex.join(step.argv)}  # {step.why}")
        return
    prepare_disk(plan, state_root())
    click.echo(f"{folder} is ready. `gym-anything host disk release {folder}` gives it back.")


@disk.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
def release(folder: Path, yes: bool) -> int:
    """Unmount what `host disk prepare` made at FOLDER and remove its file, with all that is in it."""
    from gym_anything._util.state_dir import state_root
    from gym_anything.pool.host_disk import release_disk

    if not yes and not click.confirm(f"Remove all that is in {folder}?"):
        click.echo("Nothing was removed.")
        return 1
    plan = release_disk(folder.absolute(), state_root())
    click.echo(f"{folder} is unmounted" + (f" and {plan.file} removed." if plan.file else "."))
    return 0


def _report(changes: list[LimitChange], nothing: str, dry_run: bool, as_json: bool) -> int:
    failed = any(change.problem for change in changes)
    if as_json:
        print_json({"dry_run": dry_run, "changes": _change_rows(changes), "ok": not failed})
    elif not changes:
        click.echo(nothing)
    else:
        said = "would be changed" if dry_run else "changed"
        print_table(
            ("limit", "from", "to", ""), [(one.name, one.before, one.after, one.problem or said) for one in changes]
        )
    return 1 if failed else 0


def _change_rows(changes: list[LimitChange]) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "before": one.before, "after": one.after, "problem": one.problem or None} for one in changes
    ]


def _row(one: LimitState) -> tuple[str, str, int, str, str]:
    now = "not here" if one.value is None else str(one.value)
    return one.limit.name, now, one.limit.enough, "fine" if one.enough else "low", one.limit.why


def _process_row(one: ProcessLimit) -> tuple[str, str, int, str, str]:
    now = "unlimited" if one.value is None else str(one.value)
    return one.name, now, one.enough, "fine" if one.is_enough else "low", one.why
