"""A machine's command line: pure, and the same for the same spec. Linux guests, x86-64."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gym_anything.runtime.qemu.dbus_bus import bus_address
from gym_anything.runtime.qemu.machine_spec import DiskLayer, MachineSpec, Network, Ram

# The place of every device on the bus is part of what a saved machine is: none is left to QEMU's choice.
SCREEN_ADDR, DISK_ADDR, NETWORK_ADDR, RANDOM_ADDR, KEYBOARD_ADDR, TABLET_ADDR = "0x2", "0x3", "0x4", "0x5", "0x6", "0x7"
SHARED_REGION_ADDR = "0x10"
"""Kept free for a region that is plugged in while the machine runs."""
GUEST_ADDRESS = "10.0.2.15"
_VIDEO_MIB = 16
_ENV = "/usr/bin/env"
COPY_OF = "/proc/self/gym-anything-copy-of"
"""What ``ga-memory`` knows a file to copy by, before its path. Without the library there is no such file."""


def machine_argv(spec: MachineSpec, program: str) -> list[str]:
    """Return the whole command line. Nothing in it is ever seen by a shell."""
    parts = (_frame(spec), _memory(spec), _kernel(spec), _disk(spec), _network(spec), _devices(spec))
    return [*_preload(spec), program, *(word for part in parts for word in part)]


def _preload(spec: MachineSpec) -> Iterator[str]:
    if spec.ram.library is not None:
        yield from (_ENV, f"LD_PRELOAD={spec.ram.library}")


def _frame(spec: MachineSpec) -> Iterator[str]:
    yield from ("-name", f"guest={_escaped(spec.name)}", "-nodefaults", "-no-user-config")
    yield from ("-display", _display(spec))
    yield from ("-accel", "tcg,thread=multi" if spec.accelerator == "tcg" else spec.accelerator)
    yield from ("-machine", f"{spec.machine},memory-backend=ram,vmport=off")
    yield from ("-cpu", spec.cpu_model, "-smp", f"cpus={spec.cpus},sockets=1,cores={spec.cpus},threads=1")
    yield from ("-rtc", "base=utc", "-no-reboot")
    yield from ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny")
    if spec.vnc_socket is not None:
        yield from ("-vnc", f"unix:{_escaped(str(spec.vnc_socket))},share=force-shared")
    if spec.qmp_fd is not None:
        yield from ("-chardev", f"socket,id=qmp,fd={spec.qmp_fd}", "-mon", "chardev=qmp,mode=control")
    if spec.console_fd is not None:
        yield from ("-chardev", f"socket,id=console,fd={spec.console_fd}", "-serial", "chardev:console")
    else:
        yield from ("-chardev", "null,id=console", "-serial", "chardev:console")
    if spec.incoming:
        yield from ("-incoming", "defer")


def _display(spec: MachineSpec) -> str:
    if spec.frames != "dbus":
        return "none"
    return "dbus,p2p=yes" if spec.bus is None else f"dbus,addr={_escaped(bus_address(spec.bus))}"


def _memory(spec: MachineSpec) -> Iterator[str]:
    ram = spec.ram
    is_copy = ram.library is not None
    # Shared memory is left out of what QEMU saves; whoever saves a machine copies it.
    backend: dict[str, Any] = {"qom-type": "memory-backend-memfd", "id": "ram", "size": ram.mib << 20}
    if ram.path is not None:
        path = f"{COPY_OF}{_copied(ram)}" if is_copy else str(ram.path)
        backend |= {"qom-type": "memory-backend-file", "mem-path": path}
    backend["share"] = ram.share or is_copy or ram.path is None
    yield from ("-m", f"size={ram.mib}M", "-object", _json(backend))


def _copied(ram: Ram) -> str:
    """Return what ``ga-memory`` copies: a file, and behind two slashes the one with what is different from it."""
    return str(ram.path) if ram.changes is None else f"{ram.path}/{ram.changes.absolute()}"


def _kernel(spec: MachineSpec) -> Iterator[str]:
    if spec.kernel is None:
        return
    yield from ("-kernel", str(spec.kernel.image), "-append", spec.kernel.command_line)
    if spec.kernel.initrd is not None:
        yield from ("-initrd", str(spec.kernel.initrd))


def _disk(spec: MachineSpec) -> Iterator[str]:
    below: str | None = None
    for number, layer in enumerate(spec.layers):
        top = number == len(spec.layers) - 1
        below = "disk" if top else f"layer{number}"
        yield from ("-blockdev", _json(_layer(layer, below, number, writable=top)))
    if below is not None:
        yield from _device("virtio-blk-pci", "disk0", DISK_ADDR, drive=below)


def _layer(layer: DiskLayer, name: str, number: int, *, writable: bool) -> dict[str, Any]:
    """Return one node of the chain. All of it is said here, so that no file's own idea of what lies below it counts."""
    file = {"driver": "file", "filename": str(layer.path), "discard": "unmap"}
    node: dict[str, Any] = {"driver": layer.format, "node-name": name, "file": file, "discard": "unmap"}
    if not writable:
        node["read-only"] = file["read-only"] = True  # type: ignore[assignment]
    else:  # a crash of this host ends the world, so nobody waits for its disk; a pause writes to the file all the same
        node["cache"] = {"no-flush": True}
    if number and layer.format == "qcow2":
        node["backing"] = f"layer{number - 1}"
    return node


def _network(spec: MachineSpec) -> Iterator[str]:
    if spec.network is None:
        return
    yield from ("-netdev", ",".join(_user_network(spec.network)))
    yield from _device("virtio-net-pci", "network", NETWORK_ADDR, netdev="net0", mac=spec.network.mac, romfile="")


def _user_network(network: Network) -> Iterator[str]:
    yield from ("user", "id=net0", f"restrict={'off' if network.outside else 'on'}")
    # Port 0: QEMU takes a free one and keeps it; which one, its monitor tells.
    yield from (f"hostfwd=tcp:127.0.0.1:0-{GUEST_ADDRESS}:{port}" for port in network.guest_ports)


def _devices(spec: MachineSpec) -> Iterator[str]:
    width, height = spec.screen
    yield from _device("VGA", "screen", SCREEN_ADDR, xres=width, yres=height, edid=True, vgamem_mb=_VIDEO_MIB)
    yield from ("-object", _json({"qom-type": "rng-random", "id": "random", "filename": "/dev/urandom"}))
    yield from _device("virtio-rng-pci", "random0", RANDOM_ADDR, rng="random")
    yield from _input_devices(spec)
    # A guest's kernel says by it that it has crashed, and QEMU ends: else nobody would know before an answer is missed.
    yield from ("-device", _json({"driver": "pvpanic", "id": "panic"}))
    # Without it clones of one saved machine draw the same random numbers.
    yield from ("-device", _json({"driver": "vmgenid", "id": "generation", "guid": spec.generation_id}))
    for name, path in spec.firmware_files:
        yield from ("-fw_cfg", f"name={name},file={_escaped(str(path))}")


def _input_devices(spec: MachineSpec) -> Iterator[str]:
    if spec.input_devices == "virtio":
        yield from _device("virtio-keyboard-pci", "keyboard", KEYBOARD_ADDR)
        yield from _device("virtio-tablet-pci", "tablet", TABLET_ADDR)
        return
    yield from _device("qemu-xhci", "usb", KEYBOARD_ADDR)
    for port, (driver, name) in enumerate((("usb-kbd", "keyboard"), ("usb-tablet", "tablet")), 1):
        yield from ("-device", _json({"driver": driver, "id": name, "bus": "usb.0", "port": str(port)}))


def _device(driver: str, name: str, addr: str, **properties: Any) -> Iterator[str]:
    yield from ("-device", _json({"driver": driver, "id": name, "addr": addr, **properties}))


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escaped(text: str) -> str:
    """Return a value for an option of the form ``key=value,…``: a comma is doubled there."""
    return text.replace(",", ",,")
