"""SSH into a Linux guest: OpenSSH's own programs, by password and by key, into a world and into its forks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gym_anything.runtime.guest.ssh.command import ASKPASS, PASSWORD_VARIABLE, SshLogin, sftp_argv, ssh_argv
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.integration.qemu.conftest import MakeRunner

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed: apt-get install openssh-client"),
]


def login_of(runner: QemuNativeRunner, key_file: Path | None = None) -> SshLogin:
    info = runner.get_runtime_info()
    assert info.ssh_port is not None and info.ssh_user is not None
    return SshLogin(info.ssh_port, info.ssh_user, info.ssh_password, key_file)


def call(login: SshLogin, folder: Path, command: str = "", batch: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command in the guest, or have files copied."""
    folder.mkdir(exist_ok=True)
    askpass = folder / "askpass"
    askpass.write_text(ASKPASS)
    askpass.chmod(0o700)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}
    env[PASSWORD_VARIABLE] = login.password or ""
    argv = ssh_argv("ssh", login, folder, command) if command else sftp_argv("sftp", login, folder)
    return subprocess.run(argv, env=env, input=batch, capture_output=True, timeout=60)


@pytest.mark.soak
def test_by_password_into_a_world_and_its_fork(make_runner: MakeRunner, tmp_path: Path) -> None:
    source, fork = make_runner(ssh={}), make_runner(ssh={})
    source.start()
    point = source.branch()
    fork.start_from_branch(point)
    point.release()
    logins = [login_of(source), login_of(fork)]
    assert logins[0].password and logins[0].password != logins[1].password
    keys = []
    for name, login in zip(("source", "fork"), logins, strict=True):
        folder = tmp_path / name
        done = call(login, folder, "id -un; echo $DISPLAY")
        assert done.stdout == b"ga\n:1\n", done.stderr
        (folder / "data").write_bytes(bytes(range(256)) * 1000)
        batch = f'put "{folder}/data" /home/ga/data\nget /home/ga/data "{folder}/back"\n'.encode()
        assert call(login, folder, batch=batch).returncode == 0
        assert (folder / "back").read_bytes() == (folder / "data").read_bytes()
        keys.append((folder / "known_hosts").read_text().split()[-1])
    assert keys[0] != keys[1]
    stranger = SshLogin(logins[1].port, "ga", logins[0].password)
    assert call(stranger, tmp_path / "stranger", "id").returncode == 255
    assert call(SshLogin(logins[0].port, "root", "root"), tmp_path / "root", "id").returncode == 255


def test_by_key(make_runner: MakeRunner, tmp_path: Path) -> None:
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=30)
    runner = make_runner(ssh={"user": "root", "key_file": str(key), "port": 2222})
    runner.start()
    login = login_of(runner, key)
    assert (login.user, login.password) == ("root", None)
    assert call(login, tmp_path / "by-key", "id -un").stdout == b"root\n"
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True, timeout=30)
    assert call(SshLogin(login.port, "root", None, other), tmp_path / "other-key", "id").returncode == 255


def test_without_being_asked_for_there_is_none(make_runner: MakeRunner) -> None:
    runner = make_runner()
    runner.start()
    info = runner.get_runtime_info()
    assert (info.ssh_port, info.ssh_user, info.ssh_password) == (None, None, None)
    assert runner.exec_capture("pgrep -x sshd || echo none") == "none\n"
