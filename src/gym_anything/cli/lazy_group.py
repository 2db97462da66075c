"""A click group whose commands are imported when they are used, so that ``--help`` stays quick."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands by ``name -> "module:attribute"`` and a line of help for each.

    Args:
        lazy: where each command lives.
        lazy_help: its line in the group's own help, so that listing imports nothing.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, str], lazy_help: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = dict(lazy)
        self._lazy_help = dict(lazy_help or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names in the order given, those not imported yet included."""
        return list(dict.fromkeys([*self._lazy, *super().list_commands(ctx)]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        locator = self._lazy.get(cmd_name)
        if locator is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = locator.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{locator} is no click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to run; an unknown one is a usage error that names near matches."""
        name = args[0] if args else ""
        known = self.list_commands(ctx)
        if name and not name.startswith("-") and name not in known:
            near = difflib.get_close_matches(name, known, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the lines given, importing only those without one."""
        rows = []
        for name in self.list_commands(ctx):
            line = self._lazy_help.get(name)
            if line is None:
                command = self.get_command(ctx, name)
                line = command.get_short_help_str(formatter.width) if command is not None else ""
            rows.append((name, line))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
