"""The command lines of OpenSSH's own programs: pure. Nothing in them is ever seen by a shell of this host.

Source: ``ssh_config(5)``, ``ssh(1)``, ``sftp(1)`` of OpenSSH 8.4 and newer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
ALIVE_S, ALIVE_TIMES = 5, 3
"""A guest that says nothing for this long is given up."""
SSH, SFTP = "ssh", "sftp"
PASSWORD_VARIABLE = "GA_SSH_PASSWORD"
ASKPASS = f"#!/bin/sh\nprintf '%s\\n' \"${PASSWORD_VARIABLE}\"\n"
"""A program that ssh asks for the password, so that it stands on no command line."""


@dataclass(frozen=True, slots=True)
class SshLogin:
    """Who logs in, and where: a port of this host's loopback behind which the guest is."""

    port: int
    user: str
    password: str | None = field(default=None, repr=False)
    key_file: Path | None = None


def ssh_argv(program: str, login: SshLogin, folder: Path, command: str) -> list[str]:
    """Return ``ssh`` with a command line for the guest's own shell, without a terminal.

    Args: folder: ours, where the guest's key is noted when it is first seen.
    """
    return [program, *_options(login, folder), "-T", "-p", str(login.port), "-l", login.user, HOST, "--", command]


def sftp_argv(program: str, login: SshLogin, folder: Path) -> list[str]:
    """Return ``sftp`` that reads its commands from standard input and ends at the first that fails."""
    return [program, "-q", *_options(login, folder), "-P", str(login.port), "-b", "-", f"{login.user}@{HOST}"]


def _options(login: SshLogin, folder: Path) -> list[str]:
    by = "publickey" if login.key_file is not None else "password,keyboard-interactive"
    options = {
        "BatchMode": "no",  # sftp -b would forbid to ask for the password
        "StrictHostKeyChecking": "accept-new",
        "UserKnownHostsFile": f'"{folder / "known_hosts"}"',
        "GlobalKnownHostsFile": "none",
        "PreferredAuthentications": by,
        "NumberOfPasswordPrompts": "1",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ServerAliveInterval": str(ALIVE_S),
        "ServerAliveCountMax": str(ALIVE_TIMES),
        "LogLevel": "ERROR",
    }
    argv = ["-F", "none"]
    for name, value in options.items():
        argv += ["-o", f"{name}={value}"]
    return [*argv, *(["-i", str(login.key_file)] if login.key_file is not None else [])]


def sftp_batch(lines: Sequence[Sequence[str]]) -> bytes:
    """Return commands for ``sftp``, the first word of each as it is. Raises: ValueError for what it cannot be told."""
    return "".join(" ".join([line[0], *map(sftp_word, line[1:])]) + "\n" for line in lines).encode()


def sftp_word(word: str) -> str:
    """Quote one word so that ``sftp`` reads exactly this text: wildcards inside double quotes are plain characters.

    Raises: ValueError for a line break or a backslash, which it has no way to say.
    """
    if set(word) & set("\n\r\0\\"):
        raise ValueError(f"sftp cannot be told a name with a line break or a backslash: {word!r}")
    return '"' + word.replace('"', '\\"') + '"'
