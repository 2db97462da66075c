"""The machine's screen as QEMU sends it: a machine with nothing to boot, whose firmware writes that on its screen."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import (
    Aborted,
    BadWire,
    CaptureFailed,
    DeadlineExceeded,
    GymAnythingError,
    MissingDependency,
    WorldLost,
)
from gym_anything.runtime.qemu import dbus_wire
from gym_anything.runtime.qemu.dbus_bus import DAEMON, WITH_BUS
from gym_anything.runtime.qemu.dbus_display import DbusDisplay
from gym_anything.runtime.qemu.dbus_listening import REST_AFTER_S
from gym_anything.runtime.qemu.dbus_wire import Head
from gym_anything.runtime.qemu.emulator import HostEmulator
from gym_anything.runtime.qemu.fast_frames import require_frames
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.runtime.qemu.machine_spec import Frames, MachineSpec, Ram
from gym_anything.runtime.qemu.screendump import Screendump

pytestmark = pytest.mark.real

BGRX = 0x20020888
StartMachine = Callable[..., MachineProcess]


def soon(seconds: float = 20.0) -> Deadline:
    return Deadline.after(seconds)


@pytest.fixture
def start_machine(require_backend: Callable[[str, bool, str], None], tmp_path: Path) -> Iterator[StartMachine]:
    """Start machines without a disk; all are stopped."""
    started: list[MachineProcess] = []
    try:
        emulator = HostEmulator.find()
        require_frames(emulator, "dbus")
    except MissingDependency as error:
        require_backend("qemu-dbus", False, str(error))
        raise

    def start(frames: Frames = "dbus") -> MachineProcess:
        machine = MachineProcess(tmp_path, {}, "a machine with nothing to boot")
        started.append(machine)
        machine.start(MachineSpec("test", Ram(64), (), cpus=1, frames=frames), emulator, soon())
        return machine

    yield start
    for machine in started:
        machine.stop()


@pytest.fixture
def machine(start_machine: StartMachine) -> MachineProcess:
    return start_machine()


@pytest.fixture
def display(machine: MachineProcess) -> Iterator[DbusDisplay]:
    display = DbusDisplay(machine.qmp)
    yield display
    display.close()


def listeners() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "qemu-display"]


def test_what_qemu_sends_is_what_it_shows_when_asked(machine: MachineProcess, display: DbusDisplay) -> None:
    """S4; the firmware changes the mode and writes meanwhile."""
    both_agree(machine, display)


def test_so_it_is_on_a_bus_which_ends_with_the_machine(
    start_machine: StartMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if shutil.which(DAEMON) is None:
        pytest.skip(f"{DAEMON} is not installed: apt-get install {DAEMON}")
    monkeypatch.setenv(WITH_BUS.name, "1")
    machine = start_machine()
    displays = [DbusDisplay(machine.qmp), DbusDisplay(machine.qmp)]
    daemon = [pid for pid in proc.pids() if str(tmp_path / "bus.conf") in " ".join(proc.command_line(pid))]
    assert len(daemon) == 1
    assert stat.S_IMODE((tmp_path / "bus.conf").stat().st_mode) == 0o600
    try:
        for display in displays:
            both_agree(machine, display)
    finally:
        for display in displays:
            display.close()
    machine.stop()
    assert not proc.command_line(daemon[0])


def both_agree(machine: MachineProcess, display: DbusDisplay) -> None:
    screendump = Screendump(machine.qmp)
    last = ""

    def same() -> bool:
        nonlocal last
        asked, _ = screendump.picture(soon())
        display.fence(soon())
        told, _ = display.newest(soon())
        last = f"{asked.shape} and {told.shape}"
        return asked.shape == told.shape and bool(asked.any()) and np.array_equal(asked, told)

    try:
        for _ in range(3):
            wait_until(same, deadline=soon(), awaited="both pictures to agree", poll_s=0.01, status=lambda: last)
    finally:
        screendump.close()


def test_an_unchanged_screen_is_the_same_array_with_the_same_number(display: DbusDisplay) -> None:
    def unchanged() -> bool:  # a text cursor blinks twice a second
        first, second = display.newest(soon()), display.newest(soon())
        return first[1] == second[1] and first[0] is second[0] and not first[0].flags.writeable

    wait_until(unchanged, deadline=soon(), awaited="two looks at one picture")


def test_qemu_is_listened_to_only_while_somebody_looks(display: DbusDisplay) -> None:
    assert not listeners()
    display.newest(soon())
    assert len(listeners()) == 1
    wait_until(lambda: not listeners(), deadline=soon(REST_AFTER_S * 3), awaited="the end of listening")
    display.fence(soon())  # there is nothing to wait for
    assert display.newest(soon())[1] > 0
    assert len(listeners()) == 1
    display.close()
    assert not listeners()
    with pytest.raises(Aborted):
        display.newest(soon())


def test_a_machine_without_such_a_display_says_so(start_machine: StartMachine) -> None:
    display = DbusDisplay(start_machine("qmp").qmp)
    with pytest.raises(CaptureFailed, match="GYM_ANYTHING_QEMU_FAST_IO_BACKEND"):
        display.newest(soon())
    display.close()


def test_a_machine_that_dies_is_a_lost_world(machine: MachineProcess, display: DbusDisplay) -> None:
    display.newest(soon())
    os.kill(machine.pid, signal.SIGKILL)
    with pytest.raises(WorldLost):
        for _ in range(1000):
            display.newest(soon())
            time.sleep(0.005)


def test_abort_ends_a_blocked_look_within_a_second(machine: MachineProcess, display: DbusDisplay) -> None:
    os.kill(machine.pid, signal.SIGSTOP)
    caught: list[GymAnythingError] = []

    def look() -> None:
        try:
            display.newest(soon())
        except GymAnythingError as error:
            caught.append(error)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        wait_until(lambda: display._opening.locked(), deadline=soon(), awaited="the look to begin")
        began = time.monotonic()
        machine.abort()
        display.abort()
        looking.join(5)
        assert not looking.is_alive() and time.monotonic() - began < 1
        assert caught
    finally:
        os.kill(machine.pid, signal.SIGCONT)
        looking.join(20)


def test_a_look_that_fails_leaves_nothing_open_and_the_next_one_begins_anew(
    machine: MachineProcess, display: DbusDisplay
) -> None:
    os.kill(machine.pid, signal.SIGSTOP)
    before = proc.open_fds(os.getpid()).keys()
    try:
        for _ in range(2):
            with pytest.raises(DeadlineExceeded):
                display.newest(soon(0.2))
            assert proc.open_fds(os.getpid()).keys() == before
    finally:
        os.kill(machine.pid, signal.SIGCONT)
    assert display.newest(soon())[1] > 0


def told(member: str, *numbers: int, data: bytes = b"") -> tuple[Head, memoryview]:
    signs = "<IIIII" if member == "Scanout" else "<iiiiIII"
    body = struct.pack(signs, *numbers, len(data)) + data
    return Head(dbus_wire.CALL, 0, len(body), 1, 0, member, "org.qemu.Display1.Listener"), memoryview(body)


@pytest.mark.parametrize(
    "call, error",
    [
        (told("Scanout", 2, 2, 8, 0x10020565, data=bytes(16)), CaptureFailed),
        (told("Scanout", 2, 2, 8, BGRX, data=bytes(15)), BadWire),
        (told("Scanout", 1 << 20, 2, 1 << 22, BGRX, data=bytes(16)), BadWire),
        (told("Scanout", 2, 2, 4, BGRX, data=bytes(16)), BadWire),
        (told("Update", -1, 0, 2, 2, 8, BGRX, data=bytes(16)), BadWire),
        (told("ScanoutDMABUF", 0, 0, 0, 0, 0, 0), CaptureFailed),
    ],
)
def test_what_cannot_be_a_picture_is_refused(
    machine: MachineProcess, call: tuple[Head, memoryview], error: type[GymAnythingError]
) -> None:
    with pytest.raises(error):
        DbusDisplay(machine.qmp).take(*call)
