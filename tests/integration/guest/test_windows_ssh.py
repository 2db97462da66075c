"""Windows guests by SSH: OpenSSH's own programs against a stand-in for Windows' server (``tests.standins.windows_ssh``)."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, GuestFileNotFound, Unreachable
from gym_anything.runtime.guest.ssh.command import SshLogin
from gym_anything.runtime.guest.ssh.shell import WindowsShell
from tests.standins.windows_ssh import PASSWORD, USER, Answer, WindowsSsh, windows_ssh

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed: apt-get install openssh-client"),
]


def soon(seconds: float = 20.0) -> Deadline:
    return Deadline.after(seconds)


def answer(drive: Path, script: str) -> Answer:
    """What PowerShell would say to the few things that the tests ask."""
    tested = re.search(r"Test-Path -LiteralPath 'C:\\([^']*)'", script)
    if tested:
        path = drive / tested[1].replace("\\", "/")
        return ("folder\r\n" if path.is_dir() else "file\r\n" if path.exists() else "none\r\n"), "", 0
    return f"{len(script)}\r\n", "warned\r\n", 3


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    path = tmp_path / "drive"
    path.mkdir()
    return path


@pytest.fixture
def server(drive: Path) -> Iterator[WindowsSsh]:
    with windows_ssh(drive, lambda script: answer(drive, script)) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "world 1"
    path.mkdir()
    return path


@pytest.fixture
def shell(server: WindowsSsh, folder: Path) -> WindowsShell:
    return WindowsShell(SshLogin(server.port, USER, PASSWORD), folder, {})


def test_a_command_line_arrives_as_written_and_its_end_comes_back(shell: WindowsShell, server: WindowsSsh) -> None:
    line = "Write-Output \"a 'b' $env:X `n\"; & 'C:\\x y\\z.exe' -a \"Ж\"; exit 3"
    done = shell.run(line, soon())
    assert (done.exit_code, done.stderr, done.timed_out) == (3, b"warned\r\n", False)
    assert line in server.scripts[0]
    assert re.fullmatch(r"[\w .+/=-]+", server.commands[0]), "nothing in it that a shell on the way could read"


def test_a_line_too_long_for_windows_travels_as_a_script_and_is_removed(
    shell: WindowsShell, server: WindowsSsh, drive: Path
) -> None:
    kept: list[bytes] = []
    server.answer = lambda script: (
        kept.extend(p.read_bytes() for p in (drive / "Windows/Temp").glob("*")) or "",
        "",
        4,
    )
    line = "# " + "Ж" * 5000
    assert shell.run(line, soon()).exit_code == 4
    assert kept[0].decode("utf-8-sig") == line
    assert all(len(command) < 8191 for command in server.commands)
    assert "Remove-Item -LiteralPath 'C:\\Windows\\Temp\\ga_" in server.scripts[-1]


def test_a_command_that_takes_too_long_is_ended(shell: WindowsShell) -> None:
    done = shell.run("Start-Sleep 1000", soon(2))
    assert done.timed_out


def test_abort_ends_a_blocked_command_within_a_second(shell: WindowsShell) -> None:
    threading.Timer(1.0, shell.abort).start()
    with pytest.raises(Aborted):
        shell.run("Start-Sleep 1000", soon())


def test_folders_go_to_the_same_place_by_either_spelling_and_come_back(
    shell: WindowsShell, drive: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    (source / "deep er").mkdir(parents=True)
    (source / "set up [1].ps1").write_text("exit 0\n")
    (source / "deep er" / "Ж 'q'.bin").write_bytes(os.urandom(100_000))
    shell.put(source, "/workspace/scripts", soon())
    shell.put(source / "set up [1].ps1", "C:\\workspace\\scripts\\again.ps1", soon())
    assert (drive / "workspace/scripts/again.ps1").read_text() == "exit 0\n"
    back = tmp_path / "back"
    shell.get("C:\\workspace\\scripts", back, soon())
    assert (back / "deep er" / "Ж 'q'.bin").read_bytes() == (source / "deep er" / "Ж 'q'.bin").read_bytes()
    assert {path.name for path in back.iterdir()} == {"deep er", "set up [1].ps1", "again.ps1"}
    shell.get("/workspace/scripts/again.ps1", tmp_path / "one", soon())
    assert (tmp_path / "one").read_text() == "exit 0\n"


def test_a_missing_file_is_named_and_nothing_is_written(shell: WindowsShell, tmp_path: Path) -> None:
    with pytest.raises(GuestFileNotFound, match="gone"):
        shell.get("C:\\workspace\\gone.txt", tmp_path / "out", soon())
    assert not (tmp_path / "out").exists()


def test_a_wrong_password_is_told_and_stands_on_no_command_line(server: WindowsSsh, folder: Path) -> None:
    login = SshLogin(server.port, USER, "wrong-secret")
    with pytest.raises(Unreachable, match=USER) as refused:
        WindowsShell(login, folder, {}).run("exit 0", soon())
    assert "wrong-secret" not in str(refused.value)
    assert "wrong-secret" not in repr(login)


def test_a_guest_that_shows_another_key_is_not_taken_for_the_first(
    shell: WindowsShell, server: WindowsSsh, drive: Path, folder: Path
) -> None:
    shell.run("exit 0", soon())
    with windows_ssh(drive) as other:
        known = folder / "known_hosts"
        known.write_text(known.read_text().replace(str(server.port), str(other.port)))
        with pytest.raises(Unreachable):
            WindowsShell(replace(shell._login, port=other.port), folder, {}).run("exit 0", soon())


def test_nothing_is_left_in_the_worlds_folder(shell: WindowsShell, folder: Path) -> None:
    shell.run("exit 0", soon())
    assert {path.name for path in folder.iterdir()} == {"askpass", "known_hosts"}
