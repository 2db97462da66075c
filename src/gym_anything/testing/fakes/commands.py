"""The fake world's commands: a few words of a shell, interpreted in memory; nothing is started on the host.

Understood are simple commands joined by ``;``, ``&&``, ``||`` and newlines, assignments before a command, ``$NAME``,
``>``, ``>>``, ``<`` and ``2>&1``, ``sh -c`` and ``bash -lc``, and scripts that lie in the guest's files. Everything
else is "command not found" with exit code 127, as in a real shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gym_anything.errors import GuestFileNotFound, WorldError
from gym_anything.testing.fakes.command_line import expanded, split_commands
from gym_anything.testing.fakes.files import GuestFiles

MOST_NESTED = 20


@dataclass(slots=True)
class CommandResult:
    """What a command line left."""

    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""


class _Exit(Exception):
    """``exit N`` was met."""

    def __init__(self, code: int) -> None:
        self.code = code


@dataclass(slots=True)
class _Call:
    """One simple command about to run."""

    words: list[str]
    env: dict[str, str]
    stdin: bytes = b""
    out: CommandResult = field(default_factory=CommandResult)


class FakeShell:
    """Runs command lines on a ``GuestFiles``. ``sleep`` is given from outside: it is where a command can wait."""

    def __init__(self, files: GuestFiles, sleep: Callable[[float], None]) -> None:
        self._files = files
        self._sleep = sleep

    def run(self, cmd: str, env: Mapping[str, str]) -> CommandResult:
        """Run a whole command line and return what it left; what ``sleep`` raises passes through."""
        return self._line(cmd, dict(env), 0)

    def _line(self, text: str, env: dict[str, str], depth: int) -> CommandResult:
        total = CommandResult()
        if depth > MOST_NESTED:
            return CommandResult(126, b"", b"too deeply nested\n")
        try:
            parts = split_commands(text)
        except ValueError as error:
            return CommandResult(2, b"", f"sh: {error}\n".encode())
        try:
            for joiner, words in parts:
                if (joiner == "&&" and total.exit_code != 0) or (joiner == "||" and total.exit_code == 0):
                    continue
                one = self._simple(words, env, total.exit_code, depth)
                total = CommandResult(one.exit_code, total.stdout + one.stdout, total.stderr + one.stderr)
        except _Exit as end:
            total.exit_code = end.code
        return total

    def _simple(self, words: list[str], env: dict[str, str], last: int, depth: int) -> CommandResult:
        """Expand, redirect and run one simple command."""
        scope = {**env, "?": str(last)}
        ready = [expanded(word, scope) for word in words]
        target, append, call = "", False, _Call([], dict(env))
        rest = iter(ready)
        for word in rest:
            if word in (">", ">>"):
                target, append = next(rest, ""), word == ">>"
            elif word == "<":
                try:
                    call.stdin = self._files.read(next(rest, ""))
                except GuestFileNotFound as error:
                    return CommandResult(1, b"", f"sh: {error}\n".encode())
            elif not call.words and re.match(r"[A-Za-z_]\w*=", word):
                name, _, value = word.partition("=")
                call.env[name] = value
            else:
                call.words.append(word)
        if not call.words:
            env.update(call.env)
        else:
            self._run_word(call, depth)
        if target and target != "/dev/null":
            try:
                self._files.write(target, call.out.stdout, append=append)
            except WorldError as error:
                return CommandResult(1, b"", f"sh: {error}\n".encode())
        if target:
            call.out.stdout = b""
        return call.out

    def _run_word(self, call: _Call, depth: int) -> None:
        name, arguments = call.words[0], call.words[1:]
        if name in ("sh", "bash") and arguments and re.fullmatch(r"-l?c", arguments[0]):
            call.out = self._line(" ".join(arguments[1:2]), call.env, depth + 1)
        elif name in ("sh", "bash") and arguments and self._files.exists(arguments[0]):
            call.out = self._line(self._files.read(arguments[0]).decode(), call.env, depth + 1)
        elif name in _COMMANDS:
            _COMMANDS[name](self, call, arguments)
        elif name.startswith("/") and self._files.exists(name) and not self._files.is_folder(name):
            call.out = self._line(self._files.read(name).decode(), call.env, depth + 1)
        else:
            call.out = CommandResult(127, b"", f"sh: {name}: command not found\n".encode())

    # --- the commands --------------------------------------------------------------------------------------------

    def _echo(self, call: _Call, arguments: list[str]) -> None:
        quiet = arguments[:1] == ["-n"]
        call.out.stdout = (" ".join(arguments[1:] if quiet else arguments) + ("" if quiet else "\n")).encode()

    def _printf(self, call: _Call, arguments: list[str]) -> None:
        text = arguments[0].replace("\\n", "\n") if arguments else ""
        call.out.stdout = (text.replace("%s", "{}").format(*arguments[1:]) if "%s" in text else text).encode()

    def _cat(self, call: _Call, arguments: list[str]) -> None:
        call.out.stdout = call.stdin if not arguments else b""
        for path in arguments:
            try:
                call.out.stdout += self._files.read(path)
            except GuestFileNotFound:
                call.out.exit_code, call.out.stderr = 1, call.out.stderr + f"cat: {path}: No such file\n".encode()

    def _sleep_for(self, call: _Call, arguments: list[str]) -> None:
        try:
            seconds = float(arguments[0])
        except (IndexError, ValueError):
            call.out.exit_code, call.out.stderr = 1, b"sleep: a number of seconds is needed\n"
            return
        self._sleep(seconds)

    def _exit(self, call: _Call, arguments: list[str]) -> None:
        raise _Exit(int(arguments[0]) & 255 if arguments and arguments[0].isdigit() else call.out.exit_code)

    def _touch(self, call: _Call, arguments: list[str]) -> None:
        for path in arguments:
            self._files.write(path, b"", append=True)

    def _mkdir(self, call: _Call, arguments: list[str]) -> None:
        for path in (a for a in arguments if not a.startswith("-")):
            self._files.make_folder(path)

    def _rm(self, call: _Call, arguments: list[str]) -> None:
        forced = any(a.startswith("-") and "f" in a for a in arguments)
        for path in (a for a in arguments if not a.startswith("-")):
            if not self._files.remove(path) and not forced:
                call.out.exit_code, call.out.stderr = 1, f"rm: {path}: No such file\n".encode()

    def _test(self, call: _Call, arguments: list[str]) -> None:
        words = [a for a in arguments if a != "]"]
        inverted = words[:1] == ["!"]
        words = words[1:] if inverted else words
        if len(words) == 2 and words[0] in ("-e", "-f", "-d"):
            folder = self._files.is_folder(words[1])
            there = {"-e": self._files.exists(words[1]), "-d": folder}.get(words[0])
            ok = bool(self._files.exists(words[1]) and not folder) if there is None else there
        elif len(words) == 3 and words[1] in ("=", "!="):
            ok = (words[0] == words[2]) == (words[1] == "=")
        else:
            ok = bool(words and words[0])
        call.out.exit_code = 0 if ok != inverted else 1

    def _env(self, call: _Call, arguments: list[str]) -> None:
        call.out.stdout = "".join(f"{k}={v}\n" for k, v in sorted(call.env.items())).encode()

    def _seq(self, call: _Call, arguments: list[str]) -> None:
        call.out.stdout = "".join(f"{n}\n" for n in range(1, int(arguments[-1]) + 1)).encode()

    def _true(self, call: _Call, arguments: list[str]) -> None:
        call.out.exit_code = 0

    def _false(self, call: _Call, arguments: list[str]) -> None:
        call.out.exit_code = 1


_COMMANDS: dict[str, Callable[[FakeShell, _Call, list[str]], None]] = {
    "echo": FakeShell._echo,
    "printf": FakeShell._printf,
    "cat": FakeShell._cat,
    "sleep": FakeShell._sleep_for,
    "exit": FakeShell._exit,
    "touch": FakeShell._touch,
    "mkdir": FakeShell._mkdir,
    "rm": FakeShell._rm,
    "test": FakeShell._test,
    "[": FakeShell._test,
    "env": FakeShell._env,
    "seq": FakeShell._seq,
    "true": FakeShell._true,
    ":": FakeShell._true,
    "set": FakeShell._true,
    "false": FakeShell._false,
}
