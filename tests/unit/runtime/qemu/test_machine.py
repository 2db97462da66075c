"""A machine's command line: written down whole, and true for every spec."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.runtime.qemu.machine import machine_argv
from gym_anything.runtime.qemu.machine_spec import DiskLayer, Kernel, MachineSpec, Network, Ram

pytestmark = pytest.mark.unit

PLAIN = MachineSpec(
    name="w1",
    ram=Ram(1024, Path("/state/ram")),
    layers=(DiskLayer(Path("/images/disk.raw"), "raw"), DiskLayer(Path("/state/disk.qcow2"))),
    kernel=Kernel(Path("/images/vmlinuz"), Path("/images/initrd.img"), "root=/dev/vda quiet"),
    network=Network("52:54:00:00:00:01", outside=False, guest_ports=(7001, 7002)),
    firmware_files=(("opt/gym-anything/token", Path("/state/token")),),
    incoming=True,
)
HAVE_NO_PLACE = {"pvpanic", "vmgenid", "usb-kbd", "usb-tablet"}


def test_the_command_line_of_a_clone() -> None:
    assert machine_argv(PLAIN, "/usr/bin/qemu-system-x86_64") == [
        "/usr/bin/qemu-system-x86_64",
        *("-name", "guest=w1", "-nodefaults", "-no-user-config", "-display", "none", "-accel", "tcg,thread=multi"),
        *("-machine", "pc,memory-backend=ram,vmport=off"),
        *("-cpu", "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+lahf_lm,+rdrand"),
        *("-smp", "cpus=2,sockets=1,cores=2,threads=1", "-rtc", "base=utc", "-no-reboot"),
        *("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny"),
        *("-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control"),
        *("-chardev", "socket,id=console,fd=4", "-serial", "chardev:console", "-incoming", "defer"),
        *("-m", "size=1024M", "-object"),
        '{"qom-type":"memory-backend-file","id":"ram","size":1073741824,"mem-path":"/state/ram","share":false}',
        *("-kernel", "/images/vmlinuz", "-append", "root=/dev/vda quiet", "-initrd", "/images/initrd.img"),
        "-blockdev",
        '{"driver":"raw","node-name":"layer0","file":{"driver":"file","filename":"/images/disk.raw","discard":"unmap",'
        '"read-only":true},"discard":"unmap","read-only":true}',
        "-blockdev",
        '{"driver":"qcow2","node-name":"disk","file":{"driver":"file","filename":"/state/disk.qcow2","discard":"unmap"},'
        '"discard":"unmap","cache":{"no-flush":true},"backing":"layer0"}',
        *("-device", '{"driver":"virtio-blk-pci","id":"disk0","addr":"0x3","drive":"disk"}', "-netdev"),
        "user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:0-10.0.2.15:7001,hostfwd=tcp:127.0.0.1:0-10.0.2.15:7002",
        "-device",
        '{"driver":"virtio-net-pci","id":"network","addr":"0x4","netdev":"net0","mac":"52:54:00:00:00:01","romfile":""}',
        "-device",
        '{"driver":"VGA","id":"screen","addr":"0x2","xres":1280,"yres":800,"edid":true,"vgamem_mb":16}',
        *("-object", '{"qom-type":"rng-random","id":"random","filename":"/dev/urandom"}', "-device"),
        '{"driver":"virtio-rng-pci","id":"random0","addr":"0x5","rng":"random"}',
        *("-device", '{"driver":"qemu-xhci","id":"usb","addr":"0x6"}'),
        *("-device", '{"driver":"usb-kbd","id":"keyboard","bus":"usb.0","port":"1"}'),
        *("-device", '{"driver":"usb-tablet","id":"tablet","bus":"usb.0","port":"2"}'),
        *("-device", '{"driver":"pvpanic","id":"panic"}'),
        *("-device", '{"driver":"vmgenid","id":"generation","guid":"auto"}'),
        *("-fw_cfg", "name=opt/gym-anything/token,file=/state/token"),
    ]


names = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/"), min_size=1, max_size=30)
paths = names.map(lambda name: Path("/a folder") / name)
specs = st.builds(
    MachineSpec,
    name=names,
    ram=st.builds(Ram, st.integers(64, 8192), st.none() | paths, st.booleans()),
    layers=st.builds(
        lambda base, more: (base, *more),
        st.builds(DiskLayer, paths, st.sampled_from(["raw", "qcow2"])),
        st.lists(st.builds(DiskLayer, paths), max_size=4),
    ),
    cpus=st.integers(1, 16),
    accelerator=st.sampled_from(["tcg", "kvm"]),
    screen=st.tuples(st.integers(320, 2560), st.integers(200, 1600)),
    kernel=st.none() | st.builds(Kernel, paths, st.none() | paths, names),
    network=st.none()
    | st.builds(
        Network,
        st.just("52:54:00:00:00:01"),
        st.booleans(),
        st.lists(st.integers(1, 65535), max_size=4, unique=True).map(tuple),
    ),
    firmware_files=st.lists(st.tuples(st.just("opt/a"), paths), max_size=1).map(tuple),
    incoming=st.booleans(),
    input_devices=st.sampled_from(["xhci", "virtio"]),
    qmp_fd=st.none() | st.just(3),
    console_fd=st.none() | st.just(4),
)


def values(argv: list[str], option: str) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == option]


def objects(argv: list[str], option: str) -> list[dict[str, Any]]:
    return [json.loads(value) for value in values(argv, option)]


@given(specs)
def test_every_device_has_its_own_place_and_the_same_in_every_machine(spec: MachineSpec) -> None:
    devices = [d for d in objects(machine_argv(spec, "qemu"), "-device") if d["driver"] not in HAVE_NO_PLACE]
    places = [device["addr"] for device in devices]
    assert len(set(places)) == len(places)
    fixed = {"VGA": "0x2", "virtio-blk-pci": "0x3", "virtio-net-pci": "0x4", "virtio-rng-pci": "0x5"}
    assert all(device["addr"] == fixed.get(device["driver"], device["addr"]) for device in devices)


@given(specs)
def test_every_machine_has_an_identity_of_its_own(spec: MachineSpec) -> None:
    devices = objects(machine_argv(spec, "qemu"), "-device")
    assert [d["guid"] for d in devices if d["driver"] == "vmgenid"] == ["auto"]


@given(specs)
def test_only_the_newest_layer_is_written(spec: MachineSpec) -> None:
    nodes = objects(machine_argv(spec, "qemu"), "-blockdev")
    assert [node["file"]["filename"] for node in nodes] == [str(layer.path) for layer in spec.layers]
    assert [bool(node.get("read-only")) for node in nodes] == [True] * (len(nodes) - 1) + [False]
    for below, node in pairwise(nodes):
        assert node["backing"] == below["node-name"]
    assert "backing" not in nodes[0]


@given(specs)
def test_forwards_are_on_loopback_with_ports_that_qemu_chooses(spec: MachineSpec) -> None:
    """L4, N1: no port is picked before it is bound, and none is reached from another host."""
    argv = machine_argv(spec, "qemu")
    rules = [part for value in values(argv, "-netdev") for part in value.split(",") if part.startswith("hostfwd=")]
    assert len(rules) == (len(spec.network.guest_ports) if spec.network else 0)
    assert all(rule.startswith("hostfwd=tcp:127.0.0.1:0-10.0.2.15:") for rule in rules)


@given(specs)
def test_names_with_spaces_commas_and_any_letters_stay_whole(spec: MachineSpec) -> None:
    """N12."""
    argv = machine_argv(spec, "qemu")
    assert values(argv, "-name")[0].removeprefix("guest=").replace(",,", ",") == spec.name
    for (name, path), value in zip(spec.firmware_files, values(argv, "-fw_cfg"), strict=True):
        assert value.removeprefix(f"name={name},file=").replace(",,", ",") == str(path)
    if spec.kernel is not None:
        assert values(argv, "-append") == [spec.kernel.command_line]


@given(specs)
def test_the_same_spec_gives_the_same_line(spec: MachineSpec) -> None:
    assert machine_argv(spec, "qemu") == machine_argv(spec, "qemu")


@given(specs)
def test_what_may_differ_between_clones_is_no_part_of_the_topology(spec: MachineSpec) -> None:
    other = spec.with_(
        name="other",
        ram=Ram(spec.ram.mib, Path("/other"), not spec.ram.share),
        layers=(*spec.layers, DiskLayer(Path("/more"))),
        incoming=not spec.incoming,
        kernel=None,
    )
    assert other.topology() == spec.topology()


@pytest.mark.parametrize(
    "change",
    [
        {"cpus": 3},
        {"ram": Ram(2048)},
        {"accelerator": "kvm"},
        {"cpu": "max"},
        {"screen": (800, 600)},
        {"network": None},
    ],
)
def test_what_a_saved_machine_depends_on_is_part_of_the_topology(change: dict[str, Any]) -> None:
    assert PLAIN.with_(**change).topology() != PLAIN.topology()


def test_a_copys_memory_is_shared_for_qemu_and_private_in_truth() -> None:
    argv = machine_argv(PLAIN.with_(ram=Ram(1024, Path("/state/ram"), library=Path("/lib/ga-memory"))), "/usr/bin/qemu")
    assert argv[:3] == ["/usr/bin/env", "LD_PRELOAD=/lib/ga-memory", "/usr/bin/qemu"]
    memory = json.loads(next(value for value in values(argv, "-object") if '"ram"' in value))
    assert memory["mem-path"] == "/proc/self/gym-anything-copy-of/state/ram"
    assert memory["share"] is True


def test_a_booted_machines_memory_is_shared_too_so_that_it_can_be_saved() -> None:
    argv = machine_argv(PLAIN.with_(ram=Ram(1024)), "/usr/bin/qemu")
    memory = json.loads(next(value for value in values(argv, "-object") if '"ram"' in value))
    assert (memory["qom-type"], memory["share"]) == ("memory-backend-memfd", True)


def test_pictures_that_qemu_sends_need_its_display_and_nothing_else_changes() -> None:
    plain, sending = (machine_argv(PLAIN.with_(frames=frames), "qemu") for frames in ("guest", "dbus"))
    assert plain == machine_argv(PLAIN, "qemu")
    assert [(a, b) for a, b in zip(plain, sending, strict=True) if a != b] == [("none", "dbus,p2p=yes")]
    assert PLAIN.with_(frames="dbus").topology() == PLAIN.topology()
