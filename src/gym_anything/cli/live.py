"""Showing something that changes: once, or again and again on a terminal until Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gym_anything.cli.output import make_console

if TYPE_CHECKING:
    from rich.console import RenderableType

REFRESH_S = 1.0


def show(view: Callable[[int | None], RenderableType], *, watch: bool, every_s: float = REFRESH_S) -> None:
    """Print what ``view`` gives; ``watch``: on a terminal again and again, until Ctrl-C.

    Args: view: gets the rows there are, None where there is no bound, and returns what to print.
    """
    console = make_console()
    if not watch:
        console.print(view(None))
        return
    if not console.is_terminal:
        raise click.UsageError("only a terminal can be watched; leave --watch out")
    from rich.live import Live

    never = threading.Event()
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while not never.wait(0):
                live.update(view(console.height - 1), refresh=True)
                never.wait(every_s)
    except KeyboardInterrupt:
        console.print(view(None))  # what was seen last stays
