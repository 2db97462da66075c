"""How far a measurement is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from gym_anything.cli.output import make_console


@contextmanager
def measuring() -> Iterator[Callable[[str, float], None]]:
    """Give what shows how far it is: a bar on a terminal, elsewhere a line for each series; on standard error."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console, said = make_console(stderr=True), ""
    columns = (BarColumn(bar_width=24), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)

        def on_news(what: str, share: float) -> None:
            nonlocal said
            bar.update(task, completed=share, description=what)
            if what != said and not console.is_terminal:
                click.echo(what, err=True)
            said = what

        yield on_news
