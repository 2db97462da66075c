"""Docker worlds without a desktop: images, mounts, accounts, limits, the engine's walls."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from gym_anything.errors import MissingDependency, SpecNotFound, WorldLost, WorldStartFailed
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.runtime.runners.docker.vendor import Engine
from tests.docker_engine import TestEngine
from tests.integration.docker.conftest import MakeRunner
from tests.world_memory import check_memory

pytestmark = pytest.mark.real


def said(runner: DockerRunner, command: str) -> str:
    return runner.exec_capture(command).strip()


def test_hooks_are_root_and_the_desktop_s_user_may_become_root(make_shell: MakeRunner) -> None:
    runner = make_shell()
    assert said(runner, "id -un; hostname; echo $DISPLAY").split() == ["root", "desktop", ":1"]
    assert runner.exec("test $(id -un) = ga && test $(sudo -n id -u) = 0 && test -w ~/Desktop", user="ga") == 0
    assert runner.exec("test -e /run/gym-anything/guest.token", use_pty=False) == 1


def test_accounts_get_homes_groups_variables_and_only_the_rights_they_have(make_shell: MakeRunner) -> None:
    eve = {"name": "eve", "uid": 1234, "permissions": {"groups": ["audio"], "env_vars": {"COLOUR": "deep red"}}}
    runner = make_shell(user_accounts=[{"name": "ga", "permissions": {"sudo": True}}, eve])
    assert runner.exec("test $(id -u) = 1234 && id -nG | grep -qw audio && test -w ~", user="eve") == 0
    assert runner.exec("test \"$COLOUR\" = 'deep red'", user="eve") == 0
    assert runner.exec("sudo -n true", user="eve") != 0
    assert runner.exec("sudo -n true", user="ga") == 0


def test_mounts_show_the_host_s_files_read_only_or_both_ways(make_shell: MakeRunner, tmp_path: Path) -> None:
    """N12: paths with spaces and other letters."""
    for name in ("shown ü", "shared"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    runner = make_shell(
        mounts=[
            {"source": str(tmp_path / "shown ü"), "target": "/workspace/shown"},
            {"source": str(tmp_path / "shared"), "target": "/workspace/shared", "mode": "rw"},
        ]
    )
    assert said(runner, "cat /workspace/shown/file") == "shown ü"
    assert runner.exec("touch /workspace/shown/x", use_pty=False) != 0
    assert runner.exec("echo back > /workspace/shared/file") == 0
    assert (tmp_path / "shared" / "file").read_text() == "back\n"
    assert runner.to_container_path(tmp_path / "shown ü" / "file") == "/workspace/shown/file"


def test_limits_are_those_of_the_spec(make_shell: MakeRunner) -> None:
    runner = make_shell(resources={"mem_gb": 0.25, "cpu": 0.5})
    limits = said(
        runner,
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; "
        "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null; df -B1 --output=size /dev/shm | tail -1",
    ).split()
    assert limits[0] == str(1 << 28) and limits[1] == "50000" and limits[-1] == str(1 << 27)


def test_a_command_that_takes_more_memory_than_there_is_dies_and_the_world_lives(make_shell: MakeRunner) -> None:
    """L10"""
    runner = make_shell(resources={"mem_gb": 0.125})
    assert runner.exec("head -c 400M /dev/zero | tail", use_pty=False) != 0
    assert said(runner, "echo alive") == "alive"


def test_the_init_keeps_its_few_capabilities_when_all_are_dropped(make_shell: MakeRunner) -> None:
    runner = make_shell(security={"cap_drop": ["ALL"]})
    effective = int(said(runner, "grep CapEff /proc/self/status").split()[1], 16)
    assert effective == sum(1 << number for number in (0, 1, 3, 5, 6, 7))
    assert runner.exec("test $(id -un) = ga", user="ga") == 0


def test_an_entry_point_runs_as_the_user_it_is_for(make_shell: MakeRunner) -> None:
    runner = make_shell(entrypoint="id -un > /tmp/who; sleep 1000", security={"user": "ga"})
    assert said(runner, "until [ -s /tmp/who ]; do sleep 0.01; done; cat /tmp/who; pgrep -u ga -c sleep").split() == [
        "ga",
        "1",
    ]


def test_a_dockerfile_is_built_once_for_its_content(
    make_shell: MakeRunner, minimal_image: str, tmp_path: Path, engine: Engine
) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(f"FROM {minimal_image}\nCOPY word /word\nENV COLOUR=red\n")
    unique = uuid.uuid4().hex  # images are kept from run to run
    (tmp_path / "word").write_text(f"first {unique} ")
    told: list[str] = []
    runner = make_shell(image=None, dockerfile=str(dockerfile))
    assert said(runner, "cat /word; echo $COLOUR").split() == ["first", unique, "red"]
    runner.stop()
    runner.set_reporter(lambda event, **facts: told.append(event))
    runner.start()
    assert "image" not in told  # it was there
    runner.stop()
    (tmp_path / "word").write_text(f"second {unique}")
    runner.start()
    assert said(runner, "cat /word") == f"second {unique}" and "image" in told


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"image": "gym-anything/no-such:1", "runner_options": {"pull": "never"}}, WorldStartFailed, "no image"),
        ({"image": None, "dockerfile": "/nowhere/Dockerfile"}, SpecNotFound, "does not exist"),
        ({"mounts": [{"source": "/nowhere/x", "target": "/x"}]}, SpecNotFound, "/nowhere/x does not exist"),
        ({"security": {"seccomp_profile": "/nowhere.json"}}, SpecNotFound, "seccomp_profile"),
        ({"security": {"runtime": "no-such-runtime"}}, MissingDependency, "no-such-runtime"),
    ],
)
def test_what_cannot_be_started_says_why_and_leaves_nothing(
    make_shell: MakeRunner, engine: Engine, fields: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        make_shell(**fields)
    del caught
    assert [row for row in engine.labelled("gym-anything.run") if row["State"] == "running"] == []


def test_an_image_without_an_x_server_names_what_it_lacks(make_runner: MakeRunner, minimal_image: str) -> None:
    runner = make_runner(base="debian-desktop", image=minimal_image)
    with pytest.raises(WorldStartFailed, match="Xvnc") as caught:
        runner.start()
    assert "tigervnc-standalone-server" in caught.value.detail["fix"]


def test_a_container_that_is_killed_is_a_lost_world(make_shell: MakeRunner, engine: Engine) -> None:
    """L9"""
    runner = make_shell()
    name = runner.get_runtime_info().container_name
    assert name is not None and engine.remove(name)
    with pytest.raises(WorldLost):
        runner.exec("true")


def test_no_engine_is_a_missing_dependency_with_the_fix(
    make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(MissingDependency) as caught:
        make_shell()
    assert "systemctl start docker" in caught.value.detail["fix"]
    assert DockerRunner.doctor_status()["available"] is False


def test_an_engine_on_another_host_is_refused(make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(MissingDependency, match="must run on this host"):
        make_shell()


def test_doctor_names_the_engine(docker_engine: TestEngine) -> None:
    status = DockerRunner.doctor_status()
    assert status["available"] is True, status
    assert "overlay2" in status["deps"]["engine"]["detail"] and os.geteuid() == 0


def test_what_a_world_takes_is_known_while_it_runs(make_shell: MakeRunner) -> None:
    check_memory(make_shell())
