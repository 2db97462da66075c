"""From a spec to the request that makes its container, compared with a golden file, and what each field does to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.runtime.container.inside import entrypoint_argv
from gym_anything.runtime.runners.docker.command import ContainerPlace, container_request
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).with_name("container.json")
PLACE = ContainerPlace(
    io="/state/r1/w1/io",
    x_sockets="/state/r1/w1/io/x11",
    guest_program="/b/ga-guest",
    desktop_program="/b/ga-desktop",
    network="gym-anything",
    labels={"gym-anything.world": "w1"},
    process_label={"GYM_ANYTHING_WORLD_LABEL": "r1/w1/1"},
)


def spec_of(**fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", **fields})


def request_of(place: ContainerPlace = PLACE, **fields: Any) -> dict[str, Any]:
    return container_request(spec_of(**fields), "img:1", place, {"DISPLAY": ":1"})


def host_of(**fields: Any) -> dict[str, Any]:
    return dict(request_of(**fields)["HostConfig"])


def test_the_request_of_a_plain_desktop_is_the_golden_one() -> None:
    assert request_of(mounts=[{"source": "/data", "target": "/workspace/data"}]) == json.loads(GOLDEN.read_text())


def test_nothing_is_published_and_nothing_is_privileged_by_itself() -> None:
    host = host_of()
    assert host["NetworkMode"] == "none" and host["Privileged"] is False
    assert "PortBindings" not in host and "ExposedPorts" not in request_of()


@pytest.mark.parametrize(
    ("fields", "network"),
    [
        ({"resources": {"net": True}}, "gym-anything"),
        ({"resources": {"net": False}}, "none"),
        ({"resources": {"net": True}, "security": {"network_allowlist": []}}, "none"),
        ({"resources": {"net": True}, "security": {"network_allowlist": ["example.org"]}}, "gym-anything"),
    ],
)
def test_only_who_asks_for_a_network_and_is_allowed_something_gets_the_shared_one(
    fields: dict[str, Any], network: str
) -> None:
    assert host_of(**fields)["NetworkMode"] == network


def test_with_systemd_our_init_starts_beside_it_and_nothing_covers_our_sockets() -> None:
    plain, request = request_of(), request_of(security={"use_systemd": True})
    assert request["Entrypoint"][-1] == plain["Entrypoint"][0] and "exec /sbin/init" in request["Entrypoint"][2]
    assert request["Cmd"] == plain["Cmd"] and request["StopSignal"] == "SIGRTMIN+3"
    assert "container=docker" in request["Env"] and "container=docker" not in plain["Env"]
    host = request["HostConfig"]
    assert "/run" in host["Tmpfs"] and "/tmp" not in host["Tmpfs"]
    masked = [mount["Source"] for mount in host["Mounts"] if mount["Target"] == "/etc/systemd/system/tmp.mount"]
    assert masked == ["/dev/null"]


def test_resources_become_limits() -> None:
    host = host_of(resources={"cpu": 1.5, "mem_gb": 3, "gpu": 2})
    assert (host["NanoCpus"], host["Memory"], host["MemorySwap"]) == (1_500_000_000, 3 << 30, 3 << 30)
    assert host["ShmSize"] == 3 << 29
    assert host["DeviceRequests"] == [{"Driver": "", "Count": 2, "Capabilities": [["gpu"]]}]


def test_mounts_are_binds_with_their_mode() -> None:
    mounts = [{"source": "/a", "target": "/workspace/a"}, {"source": "/b", "target": "/workspace/b", "mode": "rw"}]
    found = {row["Target"]: row for row in host_of(mounts=mounts)["Mounts"]}
    assert found["/workspace/a"]["ReadOnly"] is True and found["/workspace/b"]["ReadOnly"] is False
    assert found["/opt/gym-anything/ga-guest"] == {
        "Type": "bind", "Source": "/b/ga-guest", "Target": "/opt/gym-anything/ga-guest", "ReadOnly": True,
    }  # fmt: skip


def test_every_security_field_is_handed_to_the_engine() -> None:
    host = host_of(
        security={
            "cap_add": ["SYS_PTRACE"],
            "cap_drop": ["NET_RAW"],
            "devices": ["/dev/fuse", "/dev/a:/dev/b:r"],
            "privileged": True,
            "runtime": "runsc",
            "cgroupns_host": True,
            "mount_cgroups": True,
            "tmpfs_run": True,
            "stop_timeout": 3,
        }
    )
    assert (host["CapAdd"], host["CapDrop"]) == (["SYS_PTRACE"], ["NET_RAW"])
    assert host["Devices"] == [
        {"PathOnHost": "/dev/fuse", "PathInContainer": "/dev/fuse", "CgroupPermissions": "rwm"},
        {"PathOnHost": "/dev/a", "PathInContainer": "/dev/b", "CgroupPermissions": "r"},
    ]
    assert host["Privileged"] is True and host["Runtime"] == "runsc" and host["CgroupnsMode"] == "host"
    assert "/run" in host["Tmpfs"] and host["Mounts"][-1]["Target"] == "/sys/fs/cgroup"


def test_the_init_keeps_what_it_cannot_do_without_when_all_is_dropped() -> None:
    host = host_of(security={"cap_drop": ["ALL"], "cap_add": ["NET_BIND_SERVICE"]})
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] == ["NET_BIND_SERVICE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"]


def test_a_seccomp_profile_goes_as_its_content() -> None:
    place = ContainerPlace(**{**PLACE.__dict__, "seccomp": '{"defaultAction": "SCMP_ACT_ALLOW"}'})
    assert request_of(place)["HostConfig"]["SecurityOpt"] == ['seccomp={"defaultAction": "SCMP_ACT_ALLOW"}']


def test_stop_time_and_sudoers_reach_the_init() -> None:
    users = [
        {"name": "ga", "uid": 1500},
        {"name": "eve", "uid": 1600},
        {"name": "adm", "uid": 1700, "permissions": {"sudo": True}},
    ]
    argv = request_of(user_accounts=users, security={"stop_timeout": 3})["Cmd"]
    assert argv[argv.index("--grace-ms") + 1] == "3000"
    assert [argv[i + 1] for i, word in enumerate(argv) if word == "--sudo-uid"] == ["1000", "1500", "1700"]


def test_an_entry_point_is_a_command_line_or_a_list() -> None:
    assert entrypoint_argv(spec_of(entrypoint="/start.sh --now")) == ["/bin/sh", "-c", "/start.sh --now"]
    assert entrypoint_argv(spec_of(entrypoint=["/start.sh", "a b"])) == ["/start.sh", "a b"]
