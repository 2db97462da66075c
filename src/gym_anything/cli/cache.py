"""``gym-anything cache``: what is kept on disk, how to remove it, and what killed runs have left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from gym_anything._util.orphans import Orphan
    from gym_anything.doctor.caches import Component, Entry, Purge


@click.group()
def cache() -> None:
    """List or purge what is kept on disk, and collect what killed runs have left."""


@cache.command("list")
@click.option("--entries", is_flag=True, help="List every checkpoint and file, not only the sum.")
@json_option
def list_(entries: bool, as_json: bool) -> None:
    """List the caches of this machine: their size, what is in them and where they lie."""
    from gym_anything.doctor import caches

    found, problems = caches.components()
    content = [(component, component.entries()) for component in found]
    if as_json:
        print_json({"components": [_as_dict(*item) for item in content], "problems": problems})
        return
    print_table(
        ("name", "category", "of", "entries", "size", "where", "what"),
        [_summary_row(component, items) for component, items in content],
    )
    if entries:
        rows = [_entry_row(component, entry) for component, items in content for entry in items]
        print_table(("cache", "entry", "made", "size"), rows)
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)


@cache.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every cache there is.")
@click.option("--older-than", "days", type=click.FloatRange(0), default=0.0, metavar="DAYS", help="Only older entries.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def purge(names: Sequence[str], everything: bool, days: float, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Remove what is in the named caches (names as in `cache list`; a runner's key means all of its own).

    The files of a checkpoint that a running world uses go when that world ends. Exit code 1 when something had to be
    kept.
    """
    from gym_anything.doctor import caches

    if bool(names) == everything:
        raise click.UsageError("name the caches to purge (see `gym-anything cache list`), or give --all")
    found, problems = caches.components()
    chosen = found if everything else caches.choose(found, names)
    if not (dry_run or yes or as_json):
        listed = ", ".join(component.name for component in chosen)
        if not click.confirm(f"Remove what is in: {listed}?"):
            click.echo("Nothing was removed.")
            return 1
    result = caches.purge(chosen, dry_run=dry_run, older_than_days=days)
    if as_json:
        print_json({"dry_run": dry_run, **result.to_dict(), "problems": problems})
    else:
        _print_purge(result, dry_run)
    return 1 if result.kept else 0


@cache.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@json_option
def gc(dry_run: bool, as_json: bool) -> int:
    """Remove what killed runs have left: processes, mounts, sockets, folders, half-made checkpoints. Only ours.

    Exit code 1 when something could not be removed.
    """
    from gym_anything.doctor import caches

    found = caches.collect_garbage(dry_run=dry_run)
    failed = [orphan for orphan in found if orphan.error]
    if as_json:
        print_json({"dry_run": dry_run, "orphans": [_orphan_dict(orphan) for orphan in found], "ok": not failed})
    elif not found:
        click.echo("Nothing was left by killed runs.")
    else:
        print_table(("kind", "what", "run", "world", "result"), [_orphan_row(orphan, dry_run) for orphan in found])
    return 1 if failed else 0


def _as_dict(component: Component, entries: list[Entry]) -> dict[str, Any]:
    return {
        "name": component.name,
        "category": component.category,
        "owner": component.owner,
        "paths": [str(path) for path in component.paths],
        "desc": component.desc,
        "size_bytes": sum(entry.size_bytes for entry in entries),
        "entries": [entry.to_dict() for entry in entries],
    }


def _summary_row(component: Component, entries: list[Entry]) -> tuple[str, ...]:
    size = _size(sum(entry.size_bytes for entry in entries))
    where = "\n".join(map(str, component.paths))
    return component.name, component.category, component.owner, str(len(entries)), size, where, component.desc


def _entry_row(component: Component, entry: Entry) -> tuple[str, ...]:
    import time

    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.created_at))
    return component.name, entry.key, made, _size(entry.size_bytes)


def _print_purge(result: Purge, dry_run: bool) -> None:
    size = _size(sum(entry.size_bytes for entry in result.removed))
    click.echo(f"{'Would remove' if dry_run else 'Removed'} {len(result.removed)} entries, {size}.")
    for entry, reason in result.kept:
        click.echo(f"kept {entry.key}: {reason}", err=True)


def _orphan_dict(orphan: Orphan) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(orphan)


def _orphan_row(orphan: Orphan, dry_run: bool) -> tuple[str, ...]:
    outcome = orphan.error or ("removed" if orphan.removed else "would be removed" if dry_run else "left")
    return orphan.kind, orphan.what, orphan.run, orphan.world, outcome


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
