"""The address of a machine's bus: what the daemon listens on, QEMU connects to, and we find again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util.deadline import Deadline
from gym_anything.errors import HostError, MissingDependency
from gym_anything.runtime.qemu import dbus_bus
from gym_anything.runtime.qemu.dbus_bus import PrivateBus, bus_address, bus_path
from gym_anything.runtime.qemu.machine import machine_argv
from gym_anything.runtime.qemu.machine_spec import MachineSpec, Ram

pytestmark = pytest.mark.unit


@given(st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name and b"/" not in name))
def test_every_path_comes_back(name: bytes) -> None:
    path = Path(os.fsdecode(b"/run/" + name))
    address = bus_address(path)
    assert bus_path(address) == path
    assert set(address[len("unix:path=") :]) <= set(map(chr, dbus_bus._PLAIN)) | {"%"}


@pytest.mark.parametrize(
    "other", ["", "unix:abstract=x", "tcp:host=localhost", "unix:path=/a,guid=1", "unix:path=/a;b"]
)
def test_other_addresses_are_none_of_ours(other: str) -> None:
    assert bus_path(other) is None


def test_a_machine_is_on_the_bus_that_its_spec_names() -> None:
    spec = MachineSpec("m", Ram(64), (), frames="dbus")
    assert "dbus,p2p=yes" in machine_argv(spec, "qemu")
    assert "dbus,addr=unix:path=/w/a%2cb/bus" in machine_argv(spec.with_(bus=Path("/w/a,b/bus")), "qemu")
    assert "none" in machine_argv(spec.with_(frames="qmp", bus=Path("/w/bus")), "qemu")


def test_what_a_bus_needs_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(dbus_bus.shutil, "which", lambda *_, **__: "/usr/bin/dbus-daemon")
    with pytest.raises(HostError, match="GYM_ANYTHING_STATE_DIR"):
        PrivateBus(deep, {}, "a machine").start(Deadline.after(1))
    monkeypatch.setattr(dbus_bus.shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingDependency, match="apt-get install"):
        PrivateBus(tmp_path, {}, "a machine").start(Deadline.after(1))
