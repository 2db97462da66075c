"""QEMU inside Apptainer: the same machine, another way to the program; its folders are at the same place in there."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import MissingDependency
from gym_anything.runtime.qemu.apptainer_emulator import CONTAINER, ApptainerEmulator, wanted_image
from gym_anything.runtime.qemu.machine import machine_argv
from gym_anything.runtime.qemu.machine_spec import DiskLayer, Kernel, MachineSpec, Ram
from gym_anything.runtime.runners.qemu_native import in_apptainer
from gym_anything.runtime.runners.qemu_native.in_apptainer import QemuApptainerRunner

pytestmark = pytest.mark.unit

CACHE, STATE = Path("/cache/qemu"), Path("/state")
EMULATOR = ApptainerEmulator("/usr/bin/apptainer", "/images/qemu", "7.2.22 in sha256:0123", (CACHE, STATE))
SPEC = MachineSpec(
    name="m",
    ram=Ram(1024, CACHE / "checkpoints/k/ram"),
    layers=(DiskLayer(CACHE / "disks/d/disk.img", "raw"), DiskLayer(STATE / "r/w/disk.qcow2")),
    kernel=Kernel(Path("/kernels/k 1,a/vmlinuz"), None, "quiet"),
    firmware_files=(("opt/token", STATE / "r/w/token"),),
    vnc_socket=Path("/tmp/short/vnc"),
)


def binds(argv: list[str]) -> list[str]:
    return [word for before, word in itertools.pairwise(argv) if before == "--mount"]


def test_the_machine_inside_is_the_one_that_the_host_would_run() -> None:
    argv = EMULATOR.machine_argv(SPEC)
    assert argv[0] == "/usr/bin/apptainer"
    place = argv.index("/images/qemu")
    assert argv[place + 1 :] == machine_argv(SPEC, "qemu-system-x86_64")


def test_every_folder_that_a_machine_names_is_there_once_and_at_the_same_place() -> None:
    found = binds(EMULATOR.machine_argv(SPEC))
    assert found == [
        "type=bind,source=/cache/qemu,destination=/cache/qemu",
        "type=bind,source=/state,destination=/state",
        'type=bind,"source=/kernels/k 1,a","destination=/kernels/k 1,a"',
        "type=bind,source=/tmp/short,destination=/tmp/short",
    ]


def test_it_sees_nothing_else_of_the_host_and_has_no_rights_of_root() -> None:
    argv = EMULATOR.machine_argv(SPEC)
    for word in ("--contain", "--cleanenv", "--no-privs", "--no-eval"):
        assert word in argv[: argv.index("/images/qemu")]


@pytest.mark.parametrize(
    ("kvm", "accelerator", "there"), [(True, "kvm", True), (True, "tcg", False), (False, "kvm", False)]
)
def test_the_kvm_device_is_there_where_the_machine_uses_it(kvm: bool, accelerator: Any, there: bool) -> None:
    found = binds(replace(EMULATOR, kvm=kvm).machine_argv(SPEC.with_(accelerator=accelerator)))
    assert ("type=bind,source=/dev/kvm,destination=/dev/kvm" in found) is there


def test_its_processes_carry_the_worlds_label_and_keep_their_notes_in_its_folder() -> None:
    env = EMULATOR.environment({"GYM_ANYTHING_LABEL": "run/world"}, Path("/state/r/w"))
    assert env["APPTAINERENV_GYM_ANYTHING_LABEL"] == env["GYM_ANYTHING_LABEL"] == "run/world"
    assert env["APPTAINER_CONFIGDIR"] == env["HOME"] == "/state/r/w"
    assert set(env) == {"GYM_ANYTHING_LABEL", "APPTAINERENV_GYM_ANYTHING_LABEL", "APPTAINER_CONFIGDIR", "HOME", "PATH"}


def test_the_image_tool_sees_the_folder_it_writes_to() -> None:
    argv = EMULATOR.image_tool_argv(["create", "/x/a.qcow2"], Path("/x"))
    assert binds(argv) == ["type=bind,source=/x,destination=/x"]
    assert argv[-3:] == ["qemu-img", "create", "/x/a.qcow2"]


def test_another_image_is_a_file_a_folder_or_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTAINER.name, str(tmp_path))
    assert wanted_image().path == tmp_path
    monkeypatch.setenv(CONTAINER.name, "docker://registry.example/qemu-dbus:latest")
    image = wanted_image()
    assert image.source == image.mark() == "docker://registry.example/qemu-dbus:latest"
    assert image.path.suffix == ".sif"
    monkeypatch.setenv(CONTAINER.name, str(tmp_path / "gone.sif"))
    with pytest.raises(MissingDependency, match=r"gone\.sif"):
        wanted_image()


ROW_OK = {"ok": True, "detail": "fine", "fix": ""}
ROW_BAD = {"ok": False, "detail": "not found", "fix": "install it"}


@pytest.mark.parametrize(
    ("own", "host", "image", "available"),
    [
        (ROW_OK, ROW_BAD, ROW_OK, True),  # apptainer brings what the host has not
        (ROW_BAD, ROW_OK, ROW_OK, True),  # the host's own
        (ROW_BAD, ROW_BAD, ROW_OK, False),
        (ROW_OK, ROW_OK, ROW_BAD, False),  # nobody brings the guest's image
    ],
)
def test_the_doctor_wants_one_qemu_and_the_guests_image(
    own: Any, host: Any, image: Any, available: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"qemu-system-x86_64": host, "qemu-img": host, "debian-desktop-vm": image}
    monkeypatch.setattr(in_apptainer.facts, "status", lambda: {"deps": rows})
    monkeypatch.setattr(in_apptainer, "in_apptainer_row", lambda: own)
    status = QemuApptainerRunner.doctor_status()
    assert status["available"] is available
    assert bool(status["reason"]) is not available
