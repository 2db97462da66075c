"""From a spec to apptainer's command lines, compared with a golden file, and what each field does to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_anything.runtime.apptainer.command import (
    Bind,
    build_argv,
    environment,
    exec_argv,
    mount_points_argv,
    start_argv,
)
from gym_anything.runtime.runners.apptainer.command import (
    CAPABILITIES,
    InstancePlace,
    capabilities,
    init_argv,
    inside_env,
    instance_of,
)
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).with_name("command_lines.json")
PLACE: dict[str, Any] = {
    "name": "gym-anything-w1",
    "image": "/cache/debian-desktop",
    "io": "/state/r1/w1/io",
    "x_sockets": "/state/r1/w1/io/x11",
    "hosts": "/state/r1/w1/hosts",
    "overlay": "/state/r1/w1/overlay",
    "guest_program": "/b/ga-guest",
    "desktop_program": "/b/ga-desktop",
}


def spec_of(**fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", **fields})


def start_of(place: dict[str, Any] | None = None, **fields: Any) -> list[str]:
    return start_argv("apptainer", instance_of(spec_of(**fields), InstancePlace(**PLACE, **(place or {}))))


def values(argv: list[str], option: str) -> list[str]:
    return [argv[n + 1] for n, word in enumerate(argv) if word == option]


def test_the_command_lines_of_a_plain_desktop_are_the_golden_ones() -> None:
    spec = spec_of(mounts=[{"source": "/data", "target": "/workspace/data"}])
    instance = instance_of(spec, InstancePlace(**PLACE))
    found = {
        "mount_points": mount_points_argv("apptainer", instance),
        "start": start_argv("apptainer", instance),
        "exec": exec_argv("apptainer", instance, init_argv(spec)),
    }
    assert found == json.loads(GOLDEN.read_text())


def test_a_world_has_a_network_of_its_own_whatever_it_may_reach() -> None:
    for net in (True, False):
        assert values(start_of(resources={"net": net}), "--network") == ["none"]


def test_overlays_lie_in_order_the_one_that_is_written_on_top() -> None:
    argv = start_of({"layers": ["/old", "/new"]}, apptainer={"overlays": ["/data.img"]})
    assert values(argv, "--overlay") == ["/data.img:ro", "/old:ro", "/new:ro", "/state/r1/w1/overlay"]


@pytest.mark.parametrize(
    ("wish", "present", "absent"),
    [
        ({}, ["--contain", "--cleanenv", "--ipc"], ["--containall", "--nv", "--fakeroot"]),
        ({"contain": False}, [], ["--contain", "--cleanenv", "--no-mount"]),
        ({"contain_all": True}, ["--containall", "--cleanenv"], ["--contain"]),
        ({"fakeroot": True}, ["--drop-caps"], ["--fakeroot"]),
        ({"enable_gpu": True}, ["--nv"], []),
        ({"extra_start_args": ["--pids-limit", "99"]}, ["--pids-limit", "99"], []),
    ],
)
def test_each_wish_of_the_spec_is_an_option(wish: dict[str, Any], present: list[str], absent: list[str]) -> None:
    argv = start_of(apptainer=wish)
    assert not set(present) - set(argv) and not set(absent) & set(argv)
    assert argv[-2:] == ["/cache/debian-desktop", "gym-anything-w1"]


def test_a_gpu_that_is_asked_for_is_passed_through() -> None:
    assert "--nv" in start_of(resources={"gpu": 1})


def test_an_ordinary_user_s_root_is_one_of_a_user_namespace() -> None:
    rootless = start_of({"as_root": False})
    assert {"--fakeroot", "--drop-caps"} <= set(rootless) and not {"--allow-setuid", "--add-caps"} & set(rootless)
    assert "--drop-caps" not in start_of({"as_root": False}, security={"privileged": True})
    assert start_of({"as_root": False, "config": "/w/a.conf"})[1:3] == ["--config", "/w/a.conf"]


def test_arguments_for_exec_and_the_working_folder_are_for_exec() -> None:
    spec = spec_of(apptainer={"extra_exec_args": ["--no-eval"], "workdir": "/srv"})
    argv = exec_argv("apptainer", instance_of(spec, InstancePlace(**PLACE)), ["true"])
    assert argv[-3:] == ["--no-eval", "instance://gym-anything-w1", "true"] and values(argv, "--pwd") == ["/srv"]


def test_any_path_can_be_bound() -> None:
    assert Bind('/a,b/"c:d', "/t", read_only=True).text() == 'type=bind,"source=/a,b/""c:d",destination=/t,ro'
    assert values(start_of(apptainer={"binds": ["/a:/b:ro"]}), "--bind") == ["/a:/b:ro"]


def test_mounts_of_the_spec_keep_their_mode_and_devices_are_binds() -> None:
    mounts = [{"source": "/h", "target": "/a"}, {"source": "/h", "target": "/b", "mode": "rw"}]
    found = values(start_of(mounts=mounts, security={"devices": ["/dev/x:/dev/y:rw"]}), "--mount")[-3:]
    assert found == [
        "type=bind,source=/h,destination=/a,ro",
        "type=bind,source=/h,destination=/b",
        "type=bind,source=/dev/x,destination=/dev/y",
    ]


def test_a_mount_of_a_file_gets_a_file_as_its_mount_point() -> None:
    mounts = [{"source": "/h/d", "target": "/folder"}, {"source": "/h/f", "target": "/file"}]
    place = InstancePlace(**PLACE, files=["/h/f"])
    argv = mount_points_argv("apptainer", instance_of(spec_of(mounts=mounts), place))
    folders, files = argv[argv.index("sh") : argv.index("--")], argv[argv.index("--") :]
    assert "/folder" in folders and "/file" in files


@pytest.mark.parametrize(
    ("security", "gone", "there"),
    [
        ({}, {"SYS_ADMIN", "NET_ADMIN"}, {"SETUID", "NET_RAW"}),
        ({"cap_drop": ["net_raw"]}, {"NET_RAW"}, {"SETUID"}),
        ({"cap_drop": ["ALL"]}, {"NET_RAW", "MKNOD"}, {"SETUID", "KILL"}),
        ({"cap_add": ["CAP_SYS_PTRACE"]}, set(), {"SYS_PTRACE", *CAPABILITIES}),
    ],
)
def test_root_of_a_world_may_do_what_the_spec_says_and_its_init_needs(
    security: dict[str, Any], gone: set[str], there: set[str]
) -> None:
    names = capabilities(spec_of(security=security))
    assert not gone & set(names) and not there - set(names) and len(names) == len(set(names))


def test_what_root_of_a_world_may_not_is_dropped_by_name() -> None:
    argv = start_of()
    dropped, added = (set(values(argv, option)[0].split(",")) for option in ("--drop-caps", "--add-caps"))
    assert "CAP_SYS_ADMIN" in dropped and added == {f"CAP_{name}" for name in CAPABILITIES} and not dropped & added


def test_a_privileged_world_keeps_what_the_caller_may() -> None:
    argv = start_of(security={"privileged": True})
    assert "--keep-privs" in argv and "--drop-caps" not in argv


def test_variables_travel_in_the_environment_not_on_the_command_line() -> None:
    """N1"""
    env = environment(
        inside_env(spec_of(apptainer={"env": {"COLOUR": "red, blue"}}), {"LANG": "C"}), config_dir="/state/c"
    )
    assert env == {
        "APPTAINER_CONFIGDIR": "/state/c", "APPTAINERENV_LANG": "C", "APPTAINERENV_COLOUR": "red, blue",
    }  # fmt: skip
    assert "red, blue" not in " ".join(start_of(apptainer={"env": {"COLOUR": "red, blue"}}))


def test_a_build_leaves_no_cache() -> None:
    argv = build_argv("apptainer", "docker-archive:/a.tar", "/out", sandbox=True)
    assert argv == [
        "apptainer", "--silent", "build", "--disable-cache", "--sandbox", "/out", "docker-archive:/a.tar",
    ]  # fmt: skip
    assert "--fakeroot" in build_argv("apptainer", "x.def", "/x.sif", fakeroot=True)
