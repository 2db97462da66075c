"""The command line of a machine with Windows or Android for PCs: pure, and the same for the same spec.

Nothing of it could be tried with these systems themselves where this project is built; QEMU itself takes every line.

An xHCI keyboard and tablet are what every system has drivers for. Source: QEMU ``docs/system/i386/hyperv``,
``docs/system/devices/usb``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gym_anything.runtime.qemu.machine_spec import DiskLayer
from gym_anything.runtime.qemu.other_machine_spec import OtherFamily, OtherMachineSpec

GUEST_ADDRESS = "10.0.2.15"
ENLIGHTENMENTS = (
    "hv_relaxed", "hv_vapic", "hv_spinlocks=0x1fff", "hv_vpindex", "hv_runtime", "hv_synic", "hv_stimer", "hv_time",
    "hv_frequencies",
)  # fmt: skip
"""What makes Windows quick under KVM: it is told that it runs in a machine. KVM's alone; TCG has none of it."""
_MACHINE: dict[OtherFamily, str] = {"windows": "q35", "android": "q35"}
_CLOCK: dict[OtherFamily, str] = {"windows": "base=localtime", "android": "base=utc"}
"""Windows takes the machine's clock for local time."""
_VIDEO_MIB = 32


def other_machine_argv(spec: OtherMachineSpec, program: str) -> list[str]:
    """Return the whole command line. A guest that restarts itself, as installers do, is started again by QEMU."""
    return [program, *_frame(spec), *_firmware(spec), *_disk(spec), *_network(spec), *_devices(spec)]


def processor(spec: OtherMachineSpec) -> str:
    """Return the processor: the host's own under KVM, else all that TCG can do."""
    if spec.accelerator == "tcg":
        return "max"
    return ",".join(["host", *(ENLIGHTENMENTS if spec.family == "windows" else ())])


def _frame(spec: OtherMachineSpec) -> Iterator[str]:
    yield from ("-name", f"guest={_escaped(spec.name)}", "-nodefaults", "-no-user-config", "-display", "none")
    yield from ("-accel", "tcg,thread=multi" if spec.accelerator == "tcg" else spec.accelerator)
    yield from ("-machine", f"{_MACHINE[spec.family]},vmport=off", "-m", f"size={spec.ram_mib}M")
    yield from ("-cpu", processor(spec), "-smp", f"cpus={spec.cpus},sockets=1,cores={spec.cpus},threads=1")
    yield from ("-rtc", _CLOCK[spec.family])
    yield from ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny")
    if spec.vnc_socket is not None:
        yield from ("-vnc", f"unix:{_escaped(str(spec.vnc_socket))},share=force-shared")
    if spec.qmp_fd is not None:
        yield from ("-chardev", f"socket,id=qmp,fd={spec.qmp_fd}", "-mon", "chardev=qmp,mode=control")
    backend = "null,id=console" if spec.console_fd is None else f"socket,id=console,fd={spec.console_fd}"
    yield from ("-chardev", backend, "-serial", "chardev:console")


def _firmware(spec: OtherMachineSpec) -> Iterator[str]:
    firmware = spec.hardware.firmware
    if firmware is not None:
        yield from ("-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={_escaped(str(firmware.code))}")
        yield from ("-drive", f"if=pflash,unit=1,format=raw,file={_escaped(str(firmware.variables))}")


def _disk(spec: OtherMachineSpec) -> Iterator[str]:
    for number, layer in enumerate(spec.layers):
        top = number == len(spec.layers) - 1
        yield from ("-blockdev", _json(_layer(layer, "disk" if top else f"layer{number}", number, writable=top)))
    bus = spec.hardware.disk_bus
    if bus == "virtio":
        yield from _device("virtio-blk-pci", "disk0", drive="disk", bootindex=1)
    elif bus == "scsi":
        yield from _device("virtio-scsi-pci", "scsi0")
        yield from _device("scsi-hd", "disk0", bus="scsi0.0", drive="disk", bootindex=1)
    else:
        yield from _device("ide-hd", "disk0", bus="ide.0", drive="disk", bootindex=1)


def _layer(layer: DiskLayer, name: str, number: int, *, writable: bool) -> dict[str, Any]:
    file: dict[str, Any] = {"driver": "file", "filename": str(layer.path)}
    node: dict[str, Any] = {"driver": layer.format, "node-name": name, "file": file}
    if not writable:
        node["read-only"] = file["read-only"] = True
    if number and layer.format == "qcow2":
        node["backing"] = f"layer{number - 1}"
    elif layer.format == "qcow2":
        node["backing"] = None  # whatever the user's own file says lies below it
    return node


def _network(spec: OtherMachineSpec) -> Iterator[str]:
    network = spec.network
    words = ["user", "id=net0", f"restrict={'off' if network.outside else 'on'}"]
    # Port 0: QEMU takes a free one and keeps it; which one, its monitor tells.
    words += [f"hostfwd=tcp:127.0.0.1:0-{GUEST_ADDRESS}:{port}" for port in network.guest_ports]
    yield from ("-netdev", ",".join(words))
    driver = "virtio-net-pci" if spec.hardware.network_card == "virtio" else "e1000"
    yield from _device(driver, "network", netdev="net0", mac=network.mac, romfile="")


def _devices(spec: OtherMachineSpec) -> Iterator[str]:
    width, height = spec.screen
    yield from _device("VGA", "screen", xres=width, yres=height, edid=True, vgamem_mb=_VIDEO_MIB)
    yield from ("-object", _json({"qom-type": "rng-random", "id": "random", "filename": "/dev/urandom"}))
    yield from _device("virtio-rng-pci", "random0", rng="random")
    yield from _device("qemu-xhci", "usb")
    yield from _device("usb-kbd", "keyboard", bus="usb.0")
    yield from _device("usb-tablet", "tablet", bus="usb.0")
    yield from _device("vmgenid", "generation", guid="auto")


def _device(driver: str, name: str, **properties: Any) -> Iterator[str]:
    yield from ("-device", _json({"driver": driver, "id": name, **properties}))


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escaped(text: str) -> str:
    return text.replace(",", ",,")
