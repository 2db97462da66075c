"""What every command prints the same way: errors, JSON and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from gym_anything.errors import GymAnythingError

if TYPE_CHECKING:
    from rich.console import Console

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")


def print_json(document: Any) -> None:
    """Print one JSON document to standard output; NaN is refused, other types become text."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_error(error: GymAnythingError) -> None:
    """Print ``error: …`` to standard error, and the fix unless the message has it already."""
    click.echo(f"{click.style('error:', fg='red')} {error}", err=True)
    fix = error.detail.get("fix")
    if isinstance(fix, str) and fix and fix not in str(error):
        click.echo(f"  fix: {fix}", err=True)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """Print a table to standard output; cells are plain text, never markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text("" if cell is None else str(cell)) for cell in row))
    make_console().print(table)


def make_console(*, stderr: bool = False) -> Console:
    """Return a rich console; off a terminal it is wide, so that no path or message is cut."""
    import sys

    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else 160, highlight=False, soft_wrap=False)
