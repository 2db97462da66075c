"""Docker worlds whose first process is systemd, and those that another runtime than the engine's own runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything.errors import MissingDependency, WorldStartFailed
from gym_anything.runtime.images.formats import docker_archive
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import build_rootfs, find_system, plan_build
from gym_anything.runtime.runners.docker.vendor import Engine
from tests.docker_engine import GVISOR
from tests.integration.docker.conftest import MakeRunner

pytestmark = [pytest.mark.real]

RECIPES = Path(__file__).with_name("recipes")
UNIT = (
    "printf '[Service]\\nType=oneshot\\nExecStart=/bin/sh -c \"echo started >/root/unit\"\\n' "
    "> /etc/systemd/system/ours.service"
)


@pytest.fixture
def systemd_image(engine: Engine, require_backend: Callable[[str, bool, str], None]) -> str:
    """Return the reference of the smallest image with systemd, built once on a machine."""
    require_backend("mmdebstrap", shutil.which("mmdebstrap") is not None, "not installed: apt-get install mmdebstrap")
    plan = plan_build(load_recipe("debian-systemd", RECIPES))
    image = find_system(plan) or build_rootfs(plan)
    reference = docker_archive.reference(image)
    if engine.image(reference) is None:
        engine.load_image(docker_archive.archive(image))
    return reference


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_systemd_is_the_first_process_and_outlives_a_checkpoint(make_shell: MakeRunner, systemd_image: str) -> None:
    rights = {"cap_add": ["SYS_ADMIN"], "mount_cgroups": True}  # no privileged: not every machine can give all of them
    runner = make_shell(image=systemd_image, security={"use_systemd": True, **rights})

    def said(command: str) -> str:
        return runner.exec_capture(command).strip()

    assert said("cat /proc/1/comm; systemctl is-system-running; id -u; echo $DISPLAY").split() == [
        "systemd", "running", "0", ":1",
    ]  # fmt: skip
    assert said(f"{UNIT} && systemctl daemon-reload && systemctl start ours && cat /root/unit") == "started"
    runner.set_checkpoint_key("pre_start")
    runner.exec("echo kept > /root/file")
    assert runner.create_checkpoint() is True
    assert said("cat /root/file /proc/1/comm").split() == ["kept", "systemd"]
    assert runner.delete_checkpoint() is True


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_systemd_without_the_rights_it_needs_says_which(make_shell: MakeRunner, systemd_image: str) -> None:
    with pytest.raises(WorldStartFailed, match="SYS_ADMIN"):
        make_shell(image=systemd_image, security={"use_systemd": True})


def test_a_world_runs_under_gvisor(make_shell: MakeRunner, require_backend: Callable[[str, bool, str], None]) -> None:
    require_backend("runsc", shutil.which("runsc") is not None, "not installed: apt-get install runsc")
    runner = make_shell(security={"runtime": GVISOR})
    assert "gVisor" in runner.exec_capture("dmesg")
    assert runner.exec("test $(id -u) = 0 && echo here > /root/file && grep -q here /root/file") == 0
    assert runner.exec("test $(id -un) = ga", user="ga") == 0


def test_a_runtime_that_the_engine_lacks_is_refused_with_those_it_has(make_shell: MakeRunner) -> None:
    with pytest.raises(MissingDependency, match=r"no runtime 'sysbox-runc'; it has .*runc") as caught:
        make_shell(security={"runtime": "sysbox-runc"})
    assert "nestybox/sysbox" in caught.value.detail["fix"]
