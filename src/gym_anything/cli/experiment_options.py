"""Where a command that reads an experiment looks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def results_dir_option(help_text: str) -> Callable[[_Command], _Command]:
    """Add ``--results-dir``: the folder that experiments lie in, as ``benchmark`` makes it."""
    return click.option(
        "--results-dir", default="all_runs", show_default=True, type=click.Path(file_okay=False), help=help_text
    )
