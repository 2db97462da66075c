"""Command lines and their quoting, per operating system family of the guest.

Hooks are whole command lines and reach the guest's shell exactly as written; arguments are data and are quoted here.
Nothing in this module runs anything.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Sequence
from typing import Final, Literal, get_args

OsFamily = Literal["linux", "macos", "windows", "android"]
OS_FAMILIES: Final[tuple[OsFamily, ...]] = get_args(OsFamily)

# PowerShell takes each of these for a single quote. Source: PowerShell language specification 2.3.5.2.
_POWERSHELL_QUOTES: Final = re.compile("(['\u2018\u2019\u201a\u201b])")
_POWERSHELL_BEFORE: Final = "$ProgressPreference='SilentlyContinue'\n"
_POWERSHELL_AFTER: Final = "\nif ($LASTEXITCODE) { exit $LASTEXITCODE }\nif (-not $?) { exit 1 }\n"


def _check(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL byte cannot be part of a command line")
    return text


def quote(argument: str, family: OsFamily = "linux") -> str:
    """Quote one argument so that the family's shell reads exactly this text (for PowerShell: as a string)."""
    _check(argument)
    if family == "windows":
        return "'" + _POWERSHELL_QUOTES.sub(r"\1\1", argument) + "'"
    return shlex.quote(argument)


def _windows_argument(argument: str) -> str:
    """Escape for a native program started by Windows PowerShell 5.1, which passes double quotes on unescaped.

    Source: CommandLineToArgvW; PowerShell issue 1995.
    """
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', argument)
    if not argument:
        return "'\"\"'"
    if re.search(r"\s", argument):
        escaped = re.sub(r"(\\+)$", r"\1\1", escaped)
    return quote(escaped, "windows")


def join(argv: Sequence[str], family: OsFamily = "linux") -> str:
    """Return the command line that runs a program with exactly these arguments."""
    if not argv:
        raise ValueError("an empty command")
    if family == "windows":
        program, *arguments = (_check(word) for word in argv)
        return " ".join(["&", quote(program, "windows"), *map(_windows_argument, arguments)])
    return " ".join(quote(word, family) for word in argv)


def shell_argv(command: str, family: OsFamily = "linux") -> list[str]:
    """Return the argv that runs a whole command line in the family's shell.

    Linux and macOS: a login shell (``bash -lc``), so profile files apply. Android: ``sh -c``. Windows: PowerShell; the
    command travels encoded, so nothing on the way can change it, and the exit code is that of its last program.
    """
    _check(command)
    if family == "windows":
        script = (_POWERSHELL_BEFORE + command + _POWERSHELL_AFTER).encode("utf-16-le")
        options = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass"]
        return ["powershell.exe", *options, "-EncodedCommand", base64.b64encode(script).decode()]
    if family == "android":
        return ["sh", "-c", command]
    return ["bash" if family == "linux" else "/bin/bash", "-lc", command]
