"""Nobody gets out: not the world's root, not its user, whether root or an ordinary user launched it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gym_anything.runtime.runners.local.runner import LocalRunner
from tests.integration.local.escapes import ESCAPES, Escape

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def prison(local_backend: None) -> LocalRunner:
    from tests.integration.local.conftest import spec_of

    runner = LocalRunner(spec_of())
    try:
        runner.start()
        yield runner
    finally:
        runner.stop()


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.name)
def test_the_worlds_root_cannot(prison: LocalRunner, escape: Escape) -> None:
    assert escape.failed(prison.exec_capture(escape.command)), escape.name


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.name)
def test_the_worlds_user_cannot(prison: LocalRunner, escape: Escape) -> None:
    output = prison.exec_capture(f"su ga -c {_quoted(escape.command)}")
    assert escape.failed(output), escape.name


def _quoted(command: str) -> str:
    import shlex

    return shlex.quote(command)


def test_only_what_is_on_the_list_is_visible(prison: LocalRunner) -> None:
    top = prison.exec_capture("ls -A /").split()
    assert set(top) <= {
        "bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc", "root", "run",
        "sbin", "srv", "sys", "tmp", "usr", "var", "workspace",
    }  # fmt: skip
    assert prison.exec_capture("ls -A /root /home /sys /srv /workspace").split() == [
        "/home:", "ga", "/root:", "/srv:", "/sys:", "/workspace:",
    ]  # fmt: skip


def test_the_accounts_are_the_worlds_own(prison: LocalRunner) -> None:
    host_names = {line.split(":")[0] for line in Path("/etc/passwd").read_text().splitlines()}
    inside = {line.split(":")[0] for line in prison.exec_capture("cat /etc/passwd").splitlines()}
    assert "ga" in inside
    assert "_apt" not in inside or "_apt" not in host_names


def test_only_the_worlds_processes_are_visible(prison: LocalRunner) -> None:
    inside = prison.exec_capture("ls /proc | grep -c '^[0-9]'")
    assert int(inside) < 30
    assert prison.exec_capture("cat /proc/1/comm").startswith("ga-guest")


def test_a_socket_on_the_hosts_loopback_cannot_be_reached(prison: LocalRunner) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code = prison.exec(f"exec 3<>/dev/tcp/127.0.0.1/{port}", use_pty=False)
        assert code != 0


def test_an_abstract_socket_of_the_host_cannot_be_reached(prison: LocalRunner) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"gym-anything-test-{os.getpid()}"
        listener.bind(f"\0{name}")
        listener.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}')"
        assert prison.exec(f'python3 -c "{script}"', use_pty=False) != 0


def test_a_set_uid_program_of_the_world_stays_within_it(prison: LocalRunner) -> None:
    prison.exec("cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id")
    assert "euid=0(root)" in prison.exec_capture("su ga -c /tmp/id")
    host_owner = [path.stat().st_uid for path in Path("/proc").glob("[0-9]*") if _is_init(path, prison)]
    assert host_owner and all(uid > 1000 for uid in host_owner)


def _is_init(path: Path, runner: LocalRunner) -> bool:
    world = runner._world
    return world is not None and path.name == str(world.init_pid)


def test_the_hosts_clock_and_name_stay(prison: LocalRunner) -> None:
    before = socket.gethostname()
    prison.exec("hostname changed; date -s 2001-01-01")
    assert socket.gethostname() == before
    assert prison.exec_capture("hostname").strip() == "changed"
    assert prison.exec_capture("date +%Y").strip() != "2001"


def test_descriptors_of_the_launcher_do_not_cross(prison: LocalRunner) -> None:
    links = prison.exec_capture("ls -l /proc/[0-9]*/fd 2>/dev/null | sed -n 's/.*-> //p'").split()
    foreign = [
        link for link in links if link.startswith("/") and not link.startswith(("/dev/", "/proc/", "/home/", "/memfd:"))
    ]
    assert all("/log/" in link for link in foreign), foreign
