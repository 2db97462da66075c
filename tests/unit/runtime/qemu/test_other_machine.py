"""Machines for Windows and Android, as data: what they are made of, and that QEMU itself takes every line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gym_anything.runtime.qemu.machine_spec import DiskLayer, Network
from gym_anything.runtime.qemu.other_machine import ENLIGHTENMENTS, other_machine_argv
from gym_anything.runtime.qemu.other_machine_spec import Firmware, Hardware, OtherMachineSpec
from gym_anything.runtime.qemu.program import SYSTEM, find_program

WINDOWS = OtherMachineSpec(
    family="windows",
    name="w,1",
    ram_mib=8192,
    layers=(DiskLayer(Path("/cache/base_windows_11.qcow2")), DiskLayer(Path("/world/disk.qcow2"))),
    hardware=Hardware("scsi", "virtio", Firmware(Path("/fw/code.fd"), Path("/world/vars.fd"))),
    network=Network("52:54:00:01:02:03", True, (22,)),
    accelerator="kvm",
    vnc_socket=Path("/world/vnc"),
)
ANDROID = OtherMachineSpec(
    family="android",
    name="a",
    ram_mib=4096,
    layers=(DiskLayer(Path("/cache/base_android_14.qcow2")), DiskLayer(Path("/world/disk.qcow2"))),
    hardware=Hardware("sata", "e1000"),
    network=Network("52:54:00:01:02:04", False, (5555,)),
)


def values(spec: OtherMachineSpec, option: str) -> list[str]:
    argv = other_machine_argv(spec, "qemu")
    return [argv[at + 1] for at, word in enumerate(argv) if word == option]


def devices(spec: OtherMachineSpec) -> dict[str, dict[str, Any]]:
    return {str(found["id"]): found for found in map(json.loads, values(spec, "-device"))}


@pytest.mark.unit
def test_windows_gets_a_modern_chip_set_uefi_local_time_and_what_makes_it_quick() -> None:
    assert values(WINDOWS, "-machine") == ["q35,vmport=off"]
    assert values(WINDOWS, "-rtc") == ["base=localtime"]
    (cpu,) = values(WINDOWS, "-cpu")
    assert cpu.split(",") == ["host", *ENLIGHTENMENTS]
    code, variables = values(WINDOWS, "-drive")
    assert "readonly=on" in code and "file=/fw/code.fd" in code
    assert "readonly" not in variables and "file=/world/vars.fd" in variables


@pytest.mark.unit
def test_emulated_windows_is_told_nothing_that_only_kvm_can_do() -> None:
    assert values(WINDOWS.with_(accelerator="tcg"), "-cpu") == ["max"]


@pytest.mark.unit
def test_android_starts_by_the_bios_and_takes_the_clock_for_utc() -> None:
    assert values(ANDROID, "-drive") == []
    assert values(ANDROID, "-rtc") == ["base=utc"]
    assert values(ANDROID.with_(accelerator="kvm"), "-cpu") == ["host"]


@pytest.mark.unit
@pytest.mark.parametrize("spec", [WINDOWS, ANDROID], ids=lambda spec: spec.family)
def test_every_guest_sees_a_usb_keyboard_and_tablet_and_is_told_of_its_birth(spec: OtherMachineSpec) -> None:
    found = devices(spec)
    assert found["usb"]["driver"] == "qemu-xhci"
    assert (found["keyboard"]["driver"], found["keyboard"]["bus"]) == ("usb-kbd", "usb.0")
    assert (found["tablet"]["driver"], found["tablet"]["bus"]) == ("usb-tablet", "usb.0")
    assert found["generation"]["driver"] == "vmgenid"
    assert found["screen"]["xres"], found["screen"]["yres"] == spec.screen


@pytest.mark.unit
@pytest.mark.parametrize(
    ("bus", "driver", "on"),
    [("scsi", "scsi-hd", "scsi0.0"), ("virtio", "virtio-blk-pci", None), ("sata", "ide-hd", "ide.0")],
)
def test_the_disk_is_on_the_bus_its_image_has_a_driver_for(bus: Any, driver: str, on: str | None) -> None:
    disk = devices(WINDOWS.with_(hardware=Hardware(bus, "virtio")))["disk0"]
    assert (disk["driver"], disk.get("bus"), disk["drive"]) == (driver, on, "disk")


@pytest.mark.unit
def test_the_users_image_is_never_written_and_says_nothing_about_what_lies_below_it() -> None:
    base, top = (json.loads(value) for value in values(WINDOWS, "-blockdev"))
    assert base["read-only"] and base["file"]["read-only"] and base["backing"] is None
    assert top["backing"] == base["node-name"] and "read-only" not in top


@pytest.mark.unit
@pytest.mark.parametrize(("spec", "port", "restrict"), [(WINDOWS, 22, "off"), (ANDROID, 5555, "on")])
def test_the_way_in_is_a_port_of_loopback_that_qemu_chooses(spec: OtherMachineSpec, port: int, restrict: str) -> None:
    (network,) = values(spec, "-netdev")
    assert f"hostfwd=tcp:127.0.0.1:0-10.0.2.15:{port}" in network
    assert f"restrict={restrict}" in network
    card = devices(spec)["network"]
    assert card["mac"] == spec.network.mac


@pytest.mark.unit
def test_a_guest_may_restart_itself() -> None:
    assert "-no-reboot" not in other_machine_argv(WINDOWS, "qemu")


@pytest.mark.real
@pytest.mark.parametrize("spec", [WINDOWS, ANDROID], ids=lambda spec: spec.family)
def test_qemu_takes_the_whole_command_line(spec: OtherMachineSpec, tmp_path: Path) -> None:
    """Every device is made, by QEMU itself; the guest is not started."""
    program = find_program(SYSTEM)
    if program is None:
        pytest.skip("QEMU is not installed: apt-get install qemu-system-x86")
    base, top = tmp_path / "base.raw", tmp_path / "top.raw"
    for path in (base, top):
        path.write_bytes(b"")
        path.open("r+b").truncate(1 << 20)
    firmware = None
    if spec.hardware.firmware is not None:
        firmware = Firmware(tmp_path / "code.fd", tmp_path / "vars.fd")
        for path in (firmware.code, firmware.variables):
            path.write_bytes(bytes(256 << 10))
    ready = spec.with_(
        accelerator="tcg",
        ram_mib=64,
        layers=(DiskLayer(top, "raw"),),
        hardware=Hardware(spec.hardware.disk_bus, spec.hardware.network_card, firmware),
        vnc_socket=tmp_path / "vnc",
        qmp_fd=None,
        console_fd=None,
    )
    argv = [*other_machine_argv(ready, program), "-S", "-monitor", "stdio"]
    done = subprocess.run(argv, input="info qtree\nquit\n", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for driver in ("usb-kbd", "usb-tablet", "qemu-xhci"):
        assert f"dev: {driver}" in done.stdout
