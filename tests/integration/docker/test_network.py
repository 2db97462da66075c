"""The network of Docker worlds: none by default, one for all that ask, never from world to world."""

from __future__ import annotations

import socket

import pytest

from gym_anything.errors import HostError, SpecInvalid
from gym_anything.runtime.runners.docker import egress, network
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.runtime.runners.docker.vendor import Engine
from tests.docker_engine import TestEngine
from tests.integration.docker.conftest import MakeRunner

pytestmark = pytest.mark.real

NET = {"resources": {"net": True}}


def address(runner: DockerRunner) -> str:
    return runner.exec_capture("hostname -I").split()[0]


def reaches(runner: DockerRunner, host: str, port: int) -> bool:
    command = f"timeout 2 bash -c 'exec 3<>/dev/tcp/{host}/{port}'"
    return runner.exec(command, use_pty=False) == 0


def listens(runner: DockerRunner, port: int) -> None:
    """Let the world listen, with what the smallest image has: Perl."""
    program = (
        "use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => "
        f'{port}, Listen => 5, ReuseAddr => 1) or die; print "up\\n"; while ($s->accept) {{}}'
    )
    runner.exec_async(f"perl -e '{program}'")
    assert (
        runner.exec(f"until bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'; do sleep 0.01; done 2>/dev/null", timeout=10)
        == 0
    )


def test_a_world_has_no_network_by_default(make_shell: MakeRunner) -> None:
    runner = make_shell()
    assert runner.exec_capture("ls /sys/class/net").split() == ["lo"]


def test_worlds_reach_the_outside_and_not_each_other(make_shell: MakeRunner, docker_engine: TestEngine) -> None:
    one, two = make_shell(**NET), make_shell(**NET)
    listens(two, 8000)
    assert address(one) != address(two)
    assert not reaches(one, address(two), 8000)
    knock = f"exec 3<>/dev/tcp/{address(two)}/8000"
    assert docker_engine.inside("bash", "-c", knock).returncode == 0  # it does listen
    with docker_engine.outside("198.51.100.7", 80):
        assert reaches(one, "198.51.100.7", 80) and reaches(two, "198.51.100.7", 80)


def test_many_worlds_share_one_network(make_shell: MakeRunner, engine: Engine) -> None:
    """L5"""
    for _ in range(3):
        make_shell(**NET)
    (row,) = engine.networks(network.NAME)
    assert row["Options"]["com.docker.network.bridge.enable_icc"] == "false"
    assert row["Labels"] == {network.LABEL: "1"}


def test_a_network_of_our_name_that_keeps_nobody_apart_is_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "NAME", "gym-anything-open")
    engine.create_network("gym-anything-open", {}, {})
    try:
        with pytest.raises(HostError, match="docker network rm gym-anything-open"):
            network.ensure_network(engine)
    finally:
        engine._client.remove_network("gym-anything-open")


def test_a_world_reaches_only_what_its_allow_list_names(make_shell: MakeRunner, docker_engine: TestEngine) -> None:
    """N5"""
    allowed = ["198.51.100.7", "192.0.2.0/24", "localhost"]
    one = make_shell(resources={"net": True}, security={"network_allowlist": allowed})
    with docker_engine.outside("198.51.100.7", 80), docker_engine.outside("198.51.100.8", 80):
        with docker_engine.outside("192.0.2.9", 80):
            assert reaches(one, "198.51.100.7", 80) and reaches(one, "192.0.2.9", 80)
        assert not reaches(one, "198.51.100.8", 80)
        assert reaches(make_shell(**NET), "198.51.100.8", 80)  # somebody else's list is his own
    listens(one, 8000)  # its own loopback is its own
    name_server = "timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.11/53'"
    assert one.exec(name_server, use_pty=False) != 0
    capabilities = int(one.exec_capture("grep CapEff /proc/self/status").split()[1], 16)
    assert capabilities & (1 << 12 | 1 << 13) == 0  # neither NET_ADMIN nor NET_RAW


def test_a_name_on_the_list_is_known_in_the_world_without_a_name_server(
    make_shell: MakeRunner, docker_engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("198.51.100.7", 0))
    monkeypatch.setattr(egress.socket, "getaddrinfo", lambda *args, **kwargs: [row])
    one = make_shell(resources={"net": True}, security={"network_allowlist": ["shop.example"]})
    with docker_engine.outside("198.51.100.7", 80):
        assert reaches(one, "shop.example", 80)


def test_a_name_that_nobody_knows_is_refused(make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(egress.socket, "getaddrinfo", unknown)
    with pytest.raises(SpecInvalid, match=r"shop\.example cannot be looked up"):
        make_shell(resources={"net": True}, security={"network_allowlist": ["shop.example"]})
