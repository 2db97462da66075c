"""What OpenSSH's programs are told, and the rules of a Windows guest's paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.runtime.guest.ssh.command import SshLogin, sftp_argv, sftp_batch, ssh_argv
from gym_anything.runtime.guest.ssh.windows_paths import sftp_path, windows_path

pytestmark = pytest.mark.unit

LOGIN = SshLogin(40022, "Docker", "secret")
FOLDER = Path("/world one")


def options(argv: list[str]) -> dict[str, str]:
    pairs = [argv[at + 1] for at, word in enumerate(argv) if word == "-o"]
    return dict(pair.split("=", 1) for pair in pairs)


@pytest.mark.parametrize("argv", [ssh_argv("ssh", LOGIN, FOLDER, "x"), sftp_argv("sftp", LOGIN, FOLDER)])
def test_nothing_of_the_users_own_ssh_comes_in(argv: list[str]) -> None:
    assert argv[1:3] == ["-F", "none"] or argv[2:4] == ["-F", "none"]
    found = options(argv)
    assert found["StrictHostKeyChecking"] == "accept-new"
    assert found["UserKnownHostsFile"] == '"/world one/known_hosts"'
    assert (found["IdentityAgent"], found["ForwardAgent"], found["ForwardX11"]) == ("none", "no", "no")
    assert "secret" not in " ".join(argv)


def test_a_key_is_used_where_there_is_one() -> None:
    argv = ssh_argv("ssh", SshLogin(1, "u", key_file=Path("/k")), FOLDER, "x")
    assert options(argv)["PreferredAuthentications"] == "publickey"
    assert argv[argv.index("-i") + 1] == "/k"
    assert argv[-3:] == ["127.0.0.1", "--", "x"]


def test_sftp_reads_names_as_they_are() -> None:
    assert sftp_batch([("put", 'a "b" [1]*.x', "/C:/d e")]) == b'put "a \\"b\\" [1]*.x" "/C:/d e"\n'
    for bad in ("a\nrm x", "a\\"):
        with pytest.raises(ValueError, match="cannot be told"):
            sftp_batch([("put", bad)])


@pytest.mark.parametrize(
    ("written", "windows"),
    [
        ("/workspace/scripts", "C:\\workspace\\scripts"),
        ("C:\\workspace\\scripts\\", "C:\\workspace\\scripts"),
        ("c:/workspace//scripts", "C:\\workspace\\scripts"),
        ("D:\\data", "D:\\data"),
        ("/", "C:\\"),
    ],
)
def test_both_spellings_reach_the_same_file(written: str, windows: str) -> None:
    assert windows_path(written) == windows
    assert sftp_path(written) == "/" + windows.replace("\\", "/")


@pytest.mark.parametrize("bad", ["\\\\server\\share", "C:\\a:b", "/a|b", "/a\nb", "/a*"])
def test_what_no_file_is_called_is_refused(bad: str) -> None:
    with pytest.raises(ValueError):
        windows_path(bad)
