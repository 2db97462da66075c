"""A Windows guest by SSH: PowerShell command lines and files, by OpenSSH's own programs."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from gym_anything._util import atomic_write
from gym_anything._util.deadline import Deadline
from gym_anything._util.remove_tree import remove_tree
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import (
    Aborted,
    DeadlineExceeded,
    GuestCommandFailed,
    GuestFileNotFound,
    MissingDependency,
    Unreachable,
)
from gym_anything.runtime.guest.exec_result import ExecResult
from gym_anything.runtime.guest.shell import quote, shell_argv
from gym_anything.runtime.guest.ssh.command import (
    ASKPASS,
    PASSWORD_VARIABLE,
    SFTP,
    SSH,
    SshLogin,
    sftp_argv,
    sftp_batch,
    ssh_argv,
)
from gym_anything.runtime.guest.ssh.windows_paths import sftp_path, windows_path

SEARCH = "/usr/local/bin:/usr/bin:/bin"
LONGEST_COMMAND = 8000
"""Characters of a command line that ``cmd.exe``, through which Windows' SSH server passes it, takes: 8191."""
NO_CONNECTION = 255
"""How ssh ends when it has not reached the guest. Source: ``ssh(1)``."""
_UTF8_MARK = b"\xef\xbb\xbf"
"""Without it PowerShell takes a script for one of an old code page."""
_FIX = "apt-get install --no-install-recommends openssh-client"
_TIDY_S = 30.0
_POLL_S = 0.02


class WindowsShell:
    """The way into one Windows guest. Any thread; each call has a connection of its own."""

    def __init__(self, login: SshLogin, folder: Path, label_env: Mapping[str, str]) -> None:
        """Args: folder: a world's own, for keys and output. label_env: marks our processes as part of that world."""
        self._login = login
        self._folder = folder
        self._aborted = False
        self._askpass = folder / "askpass"
        atomic_write.write_bytes(self._askpass, ASKPASS.encode(), mode=0o700)
        self._env = {"PATH": SEARCH, "HOME": str(folder), **label_env}
        if login.password is not None:
            self._env |= {"SSH_ASKPASS": str(self._askpass), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
            self._env[PASSWORD_VARIABLE] = login.password

    # --- commands ------------------------------------------------------------------------------------------------

    def run(self, command: str, deadline: Deadline) -> ExecResult:
        """Run a PowerShell command line whole and return its end; a long one travels as a script file.

        When the deadline passes the connection is closed; the result then has ``timed_out``.

        Raises: Unreachable (nobody there, or not this user); MissingDependency; Aborted.
        """
        words = shell_argv(command, "windows")
        if len(" ".join(words)) <= LONGEST_COMMAND:
            return self._ssh(" ".join(words), deadline)
        place = f"C:\\Windows\\Temp\\ga_{uuid.uuid4().hex}.ps1"
        script = self._folder / f"script-{uuid.uuid4().hex[:8]}.ps1"
        script.write_bytes(_UTF8_MARK + command.encode())
        try:
            self.put(script, place, deadline)
            quoted = quote(place, "windows")
            return self._ssh(" ".join(shell_argv(f"& {quoted}", "windows")), deadline)
        finally:
            script.unlink()
            self._ssh(
                " ".join(shell_argv(f"Remove-Item -LiteralPath {quote(place, 'windows')}", "windows")),
                Deadline.after(_TIDY_S),
            )

    def _ssh(self, command: str, deadline: Deadline) -> ExecResult:
        done = self._finish(ssh_argv(_program(SSH), self._login, self._folder, command), deadline)
        if done.exit_code == NO_CONNECTION and not done.timed_out:
            raise Unreachable(f"the guest's SSH does not let {self._login.user} in: {_words(done.stderr)}")
        return done

    # --- files ---------------------------------------------------------------------------------------------------

    def put(self, source: Path, destination: str, deadline: Deadline) -> None:
        """Copy a file, or a folder with what is in it, into the guest; parents are made, what is there is replaced.

        Raises: GuestCommandFailed with the guest's reason, Unreachable, DeadlineExceeded, Aborted.
        """
        target = sftp_path(destination)
        parent = PurePosixPath(target) if source.is_dir() else PurePosixPath(target).parent
        folders, files = [*reversed(parent.parents), parent][2:], [(source, target)]
        if source.is_dir():
            below = sorted(source.rglob("*"))
            folders += [parent / path.relative_to(source) for path in below if path.is_dir()]
            files = [(path, str(parent / path.relative_to(source))) for path in below if path.is_file()]
        lines = [("-mkdir", str(folder)) for folder in folders]  # the dash: it may be there
        self._sftp([*lines, *(("put", str(path), place) for path, place in files)], deadline)

    def get(self, source: str, destination: Path, deadline: Deadline) -> None:
        """Copy a file, or a folder with what is in it, out of the guest.

        Raises: GuestFileNotFound (then nothing is written); as ``put``.
        """
        kind = self._kind(source, deadline)
        if kind == "none":
            raise GuestFileNotFound(f"no such file in the guest: {source}")
        destination.parent.mkdir(parents=True, exist_ok=True)
        partial = destination.with_name(f".{destination.name}.{uuid.uuid4().hex[:8]}")
        try:
            self._sftp([("get -r" if kind == "folder" else "get", sftp_path(source), str(partial))], deadline)
            if kind == "folder":
                shutil.copytree(partial, destination, dirs_exist_ok=True)
            else:
                partial.replace(destination)
        finally:
            if partial.exists():
                remove_tree(partial)

    def _kind(self, path: str, deadline: Deadline) -> str:
        place = quote(windows_path(path), "windows")
        question = (
            f"if (Test-Path -LiteralPath {place} -PathType Container) {{ 'folder' }} "
            f"elseif (Test-Path -LiteralPath {place}) {{ 'file' }} else {{ 'none' }}"
        )
        done = self.run(question, deadline)
        if done.timed_out or done.exit_code != 0:
            raise GuestCommandFailed(f"the guest does not say what {path} is: {_words(done.stderr)}")
        return done.stdout.decode(errors="replace").strip()

    def _sftp(self, lines: Sequence[Sequence[str]], deadline: Deadline) -> None:
        batch = sftp_batch(lines)
        done = self._finish(sftp_argv(_program(SFTP), self._login, self._folder), deadline, batch)
        if done.timed_out:
            raise DeadlineExceeded("timed out waiting for the guest to take or give files", detail={})
        if done.exit_code == NO_CONNECTION:
            raise Unreachable(f"the guest's SSH does not let {self._login.user} in: {_words(done.stderr)}")
        if done.exit_code != 0:
            reason = _words(done.stderr)
            raise GuestCommandFailed(f"files could not be copied: {reason}", detail={"log_tail": reason})

    # --- processes -----------------------------------------------------------------------------------------------

    def _finish(self, argv: list[str], deadline: Deadline, stdin: bytes = b"") -> ExecResult:
        """Run one of OpenSSH's programs to its end, or to the deadline's, or to ``abort``."""
        began, name = time.monotonic(), uuid.uuid4().hex[:12]
        paths = [self._folder / f"ssh-{name}.{end}" for end in ("in", "out", "err")]
        paths[0].write_bytes(stdin)
        try:
            with paths[0].open("rb") as source, paths[1].open("wb") as out, paths[2].open("wb") as err:
                process = Supervisor.shared().spawn(
                    argv,
                    name=f"{Path(argv[0]).name} to {self._login.user}",
                    env=self._env,
                    stdin=source.fileno(),
                    stdout=out.fileno(),
                    stderr=err.fileno(),
                    stop=StopPlan(signal=15, grace_s=0.5),
                )
            timed_out = not self._await(process, deadline)
            process.stop()
            code = 137 if timed_out else process.returncode
            return ExecResult(
                exit_code=137 if code is None else code,
                stdout=paths[1].read_bytes(),
                stderr=paths[2].read_bytes(),
                timed_out=timed_out,
                duration_s=time.monotonic() - began,
            )
        finally:
            for path in paths:
                path.unlink(missing_ok=True)

    def _await(self, process: SupervisedProcess, deadline: Deadline) -> bool:
        """Wait for the end of a process; False when the deadline came first. Raises: Aborted."""
        try:
            wait_until(
                lambda: process.returncode is not None,
                deadline=deadline,
                awaited=process.name,
                poll_s=_POLL_S,
                aborted=lambda: self._aborted,
            )
        except DeadlineExceeded:
            return False
        except Aborted:
            process.stop()
            raise
        return True

    def is_up(self, deadline: Deadline) -> str:
        """Return nothing when the guest lets us in and PowerShell answers, else what it said last."""
        try:
            done = self.run("exit 0", deadline)
        except Unreachable as error:
            return str(error)
        return "" if done.ok else f"PowerShell answers with {done.exit_code}: {_words(done.stderr)}"

    def abort(self) -> None:
        """End every blocked and later call with ``Aborted``. Any thread; returns at once."""
        self._aborted = True


def _program(name: str) -> str:
    found = shutil.which(name, path=SEARCH)
    if found is None:
        raise MissingDependency(f"{name} is not installed. Fix: {_FIX}", detail={"fix": _FIX})
    return found


def _words(data: bytes) -> str:
    return data[-500:].decode(errors="replace").strip() or "it said nothing"
