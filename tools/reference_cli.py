"""The page of the command line, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gym_anything.cli.main import cli
from tools.field_docs import table_cell

_INTRODUCTION = """\
# The command line

Exit codes: 0 fine, 1 the checked thing failed, 2 wrong use, 130 interrupted. Every report has `--json`.
An error is one line with its fix; `GYM_ANYTHING_TRACEBACK=1` shows where it comes from.
"""


def cli_page() -> str:
    """Render every command and its options."""
    lines = [_INTRODUCTION]
    context = click.Context(cli, info_name="gym-anything")
    for name, command, inner in _commands(context):
        lines += [f"\n## `{name}`\n", f"```\n{_usage(name, command)}\n```\n", _prose(command)]
        rows = [
            _row(option, inner) for option in command.params if isinstance(option, click.Option) and not option.hidden
        ]
        if rows:
            lines += ["| option | value | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def _commands(context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(inner)
        else:
            yield inner.command_path, command, inner


def _usage(name: str, command: click.Command) -> str:
    arguments = [p.metavar or _argument(p) for p in command.params if isinstance(p, click.Argument)]
    return " ".join([name, "[OPTIONS]", *arguments])


def _argument(argument: click.Argument) -> str:
    word = (argument.name or "").upper()
    word = word if argument.required else f"[{word}]"
    return word + ("..." if argument.nargs != 1 else "")


def _prose(command: click.Command) -> str:
    paragraphs = (command.help or "").replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()).replace("<", "&lt;") for paragraph in paragraphs) + "\n"


def _row(option: click.Option, context: click.Context) -> str:
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    default = option.get_default(context, call=False)
    shown = "" if default in (None, False, (), "") or not isinstance(default, str | int | float) else f"`{default}`"
    cells = (
        flags,
        "" if option.is_flag else _value(option),
        "" if option.is_flag else shown,
        (option.help or "").replace("<", "&lt;"),
    )
    return "| " + " | ".join(table_cell(cell) for cell in cells) + " |"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        words = ", ".join(f"`{choice}`" for choice in option.type.choices)
    else:
        words = f"`{(option.metavar or option.type.name).upper()}`".replace(" RANGE", "")
    return words + (", repeatable" if option.multiple else "")
