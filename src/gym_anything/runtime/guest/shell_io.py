"""Command lines and files of a Linux world, through its guest channel."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestCommandFailed, WorldError
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.exec_result import ExecResult

_FILE_S = 600.0
_CALL_S = 10.0
_SIGTERM, _SIGKILL = 15, 9


def shell_argv(command: str) -> list[str]:
    """Return the argv of a command line: a login shell, which takes it whole as one argument."""
    return ["/bin/bash", "-lc", command]


def run_shell(
    channel: GuestChannel,
    command: str,
    *,
    env: Mapping[str, str],
    user: str,
    timeout_s: float | None,
    pty: bool = False,
    on_output: Callable[[str, bytes], None] | None = None,
) -> ExecResult:
    """Run one command line and return its end.

    Raises: GuestCommandFailed with ``timed_out`` in ``detail`` when the guest had to kill it.
    """
    result = channel.exec(
        shell_argv(command),
        deadline=Deadline.after(timeout_s),
        user=user,
        env=env,
        pty=pty,
        on_output=on_output,
    )
    if result.timed_out:
        tail = (result.stderr or result.stdout)[-2000:].decode(errors="replace")
        raise GuestCommandFailed(
            f"a command took longer than {timeout_s:g} s and was killed: {command[:200]}; output tail: {tail}",
            detail={"timed_out": True, "exit_code": result.exit_code, "log_tail": tail},
        )
    return result


def copy_in(channel: GuestChannel, source: Path, destination: str, owner: str) -> None:
    """Copy a file or a folder's content into the world."""
    deadline = Deadline.after(_FILE_S)
    if source.is_dir():
        channel.put_tree(source, destination, deadline=deadline, owner=owner)
        return
    mode = stat.S_IMODE(source.stat().st_mode) & 0o777
    channel.put_file(source, destination, deadline=deadline, mode=mode, owner=owner)


def copy_out(channel: GuestChannel, source: str, destination: Path, user: str) -> None:
    """Copy a file or a folder's content out of the world. Raises: GuestFileNotFound."""
    deadline = Deadline.after(_FILE_S)
    kind = channel.exec(["/usr/bin/test", "-d", source], user=user, deadline=Deadline.after(_CALL_S))
    if kind.exit_code == 0:
        destination.mkdir(parents=True, exist_ok=True)
        channel.get_tree(source, destination, deadline=deadline)
        return
    destination.parent.mkdir(parents=True, exist_ok=True)
    channel.get_file(source, destination, deadline=deadline)


class DetachedProcess:
    """A background command whose output nobody reads."""

    def __init__(self, channel: GuestChannel, command: str, env: Mapping[str, str], user: str) -> None:
        self._channel = channel
        self._deadline_s = _CALL_S
        self.pid = channel.spawn(shell_argv(command), deadline=Deadline.after(_CALL_S), env=env, user=user)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.returncode is None:
            self.returncode = self._channel.poll_spawned(self.pid, deadline=Deadline.after(_CALL_S))
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait and return the exit code. Raises: subprocess.TimeoutExpired."""
        deadline, pause, quiet = Deadline.after(timeout), 0.002, threading.Event()
        while (code := self.poll()) is None:
            if deadline.expired():
                raise subprocess.TimeoutExpired("guest command", timeout or 0.0)
            quiet.wait(min(pause, deadline.remaining()))
            pause = min(pause * 1.5, 0.1)
        return code

    def terminate(self) -> None:
        """Ask it and what it started to end."""
        self._kill(_SIGTERM)

    def kill(self) -> None:
        """End it and what it started."""
        self._kill(_SIGKILL)

    def _kill(self, number: int) -> None:
        if self.poll() is None:
            self._channel.kill(self.pid, number, deadline=Deadline.after(self._deadline_s), tree=True)


class StreamedProcess:
    """A background command whose output goes to host files; it has a channel of its own, whose closing ends it."""

    def __init__(
        self,
        channel: GuestChannel,
        command: str,
        env: Mapping[str, str],
        user: str,
        stdout: IO[bytes] | int | None,
        stderr: IO[bytes] | int | None,
    ) -> None:
        self._channel = channel
        self._sinks = {"stdout": stdout, "stderr": stdout if stderr == subprocess.STDOUT else stderr}
        self._ended = threading.Event()
        self._command = command
        self._env = dict(env)
        self._user = user
        self.returncode: int | None = None
        self._error: WorldError | None = None
        threading.Thread(target=self._run, name="guest-output", daemon=True).start()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs. Raises: WorldLost when the world went first."""
        if self._error is not None:
            raise self._error
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait and return the exit code. Raises: subprocess.TimeoutExpired."""
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("guest command", timeout or 0.0)
        code = self.poll()
        return -_SIGKILL if code is None else code

    def terminate(self) -> None:
        """End it and what it started."""
        self._channel.close()

    kill = terminate

    def _run(self) -> None:
        try:
            result = run_shell(
                self._channel, self._command, env=self._env, user=self._user, timeout_s=None, on_output=self._write
            )
            self.returncode = result.exit_code
        except WorldError as error:
            if not self._closed_by_us(error):
                self._error = error
        finally:
            self._channel.close()
            self._ended.set()

    def _closed_by_us(self, error: WorldError) -> bool:
        self.returncode = -_SIGKILL
        return error.code == "world-lost"

    def _write(self, stream: str, data: bytes) -> None:
        sink = self._sinks[stream]
        if sink is None or sink == subprocess.DEVNULL:
            return
        if isinstance(sink, int):
            os.write(sink, data)
        else:
            sink.write(data)
            sink.flush()
