"""The other ways in which a machine's pictures come: sent by QEMU over D-Bus, written by the guest into shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import SettingInvalid
from gym_anything.observations.frame import Frame
from gym_anything.runtime.qemu.dbus_desktop import DbusDesktop
from gym_anything.runtime.qemu.guest_machine import GuestMachine
from gym_anything.runtime.qemu.region_desktop import RegionDesktop
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.integration.qemu.conftest import MakeRunner, spec_of

pytestmark = pytest.mark.real

AWAY = (1270, 10)  # where the pointer hides nothing that a test looks at
PAINT = "DISPLAY=:1 hsetroot -solid"


def soon(seconds: float = 20.0) -> Deadline:
    return Deadline.after(seconds)


@pytest.fixture(scope="module")
def start_world(qemu_backend: None) -> Iterator[Callable[[str], QemuNativeRunner]]:
    """Return ``start(backend)``: one running world for each, which the module's tests share."""
    started: dict[str, QemuNativeRunner] = {}

    def start(backend: str) -> QemuNativeRunner:
        if backend not in started:
            runner = started[backend] = QemuNativeRunner(spec_of(runner_options={"fast_io_backend": backend}))
            runner.start()
            runner.inject_action({"mouse": {"move": list(AWAY)}})
        return started[backend]

    yield start
    for runner in started.values():
        runner.stop()


@pytest.fixture(params=["dbus", "guest"])
def world(request: pytest.FixtureRequest, start_world: Callable[[str], QemuNativeRunner]) -> QemuNativeRunner:
    return start_world(request.param)


@pytest.fixture
def guest_world(start_world: Callable[[str], QemuNativeRunner]) -> QemuNativeRunner:
    return start_world("guest")


@pytest.fixture
def dbus_world(start_world: Callable[[str], QemuNativeRunner]) -> QemuNativeRunner:
    return start_world("dbus")


def machine_of(world: QemuNativeRunner) -> GuestMachine:
    assert world._world is not None
    return world._world


def without_pointer(frame: Frame) -> npt.NDArray[np.uint8]:
    array: npt.NDArray[np.uint8] = frame.array[60:, :]
    return array


def asked(world: QemuNativeRunner) -> npt.NDArray[np.uint8]:
    """Return what QEMU shows when it is asked."""
    machine = machine_of(world)
    assert machine._screen is not None
    array: npt.NDArray[np.uint8] = machine._screen.picture(soon())[0][60:, :]
    return array


def test_its_pictures_are_those_that_qemu_shows(world: QemuNativeRunner) -> None:
    """S4: exact, however they come."""
    for colour in ("#123456", "#fedcba"):
        assert world.exec(f"{PAINT} '{colour}'") == 0
        wait_until(
            lambda: np.array_equal(without_pointer(world.capture_frame()), asked(world)),
            deadline=soon(),
            awaited="both pictures to agree",
        )
        assert world.capture_frame().array[400, 640].tolist() == [int(colour[n : n + 2], 16) for n in (1, 3, 5)]


def test_a_frame_is_not_older_than_the_input_before_it(world: QemuNativeRunner) -> None:
    """S2: it names the input, and shows the pointer where the way of taking pictures has one."""
    last = 0
    for number in range(5):
        x, y = 300 + 60 * number, 200
        world.inject_action({"mouse": {"move": [x, y]}})
        frame = world.capture_frame()
        assert frame.after_input > last
        last = frame.after_input
        again = world.capture_frame()
        assert again.seq > frame.seq and again.after_input == last
    world.inject_action({"mouse": {"move": list(AWAY)}})


def test_the_guest_has_drawn_what_a_frame_after_it_shows(guest_world: QemuNativeRunner) -> None:
    """S2: no refresh of the machine's screen is waited for: what its X server has done is in the next frame."""
    for number in range(3):
        assert guest_world.exec(f"{PAINT} '#{number:02x}40{number:02x}'") == 0
        assert guest_world.capture_frame().array[400, 640].tolist() == [number, 64, number]


def test_views_of_earlier_frames_do_not_change(world: QemuNativeRunner) -> None:
    kept = []
    for number in range(3):
        assert world.exec(f"{PAINT} '#0{number}0{number}0{number}'") == 0
        wait_until(
            lambda wanted=number: world.capture_frame().array[400, 640, 0] == wanted,  # type: ignore[misc]
            deadline=soon(),
            awaited="the colour",
        )
        kept.append(world.capture_frame().array[300:500])
    assert [int(array[0, 640, 0]) for array in kept] == [0, 1, 2]
    assert all(not array.flags.writeable for array in kept)


def test_the_region_is_plugged_out_of_a_machine_that_is_about_to_be_saved(guest_world: QemuNativeRunner) -> None:
    """K2: with it QEMU would refuse; afterwards frames come as before."""
    machine = machine_of(guest_world)
    before = guest_world.capture_frame()
    qmp = machine.process.qmp
    assert "blocked-reasons" in qmp.execute("query-migrate", deadline=soon())
    machine.disconnect()
    assert "blocked-reasons" not in qmp.execute("query-migrate", deadline=soon())
    assert [memory["id"] for memory in qmp.execute("query-memdev", deadline=soon())] == ["ram"]
    machine.connect(soon())
    assert isinstance(machine.desktop, RegionDesktop)
    assert np.array_equal(guest_world.capture_frame().array[:700], before.array[:700])


def test_a_desktop_service_that_is_started_again_gets_the_region_again(guest_world: QemuNativeRunner) -> None:
    """L9: what dies inside comes back, and so do the pictures."""
    guest_world.capture_frame()
    assert guest_world.exec("systemctl restart gym-anything-desktop.service", use_pty=False) == 0
    machine = machine_of(guest_world)
    machine.disconnect()
    machine.connect(soon())
    assert guest_world.capture_frame().array.shape == (800, 1280, 3)


def test_the_pointer_is_drawn_when_asked_for(guest_world: QemuNativeRunner) -> None:
    desktop = machine_of(guest_world).desktop
    guest_world.inject_action({"mouse": {"move": [640, 300]}})
    plain, pointed = desktop.frame().array[290:330, 630:670], desktop.frame(pointer=True).array[290:330, 630:670]
    assert (plain == plain[0, 0]).all() and not np.array_equal(plain, pointed)
    guest_world.inject_action({"mouse": {"move": list(AWAY)}})


def test_changes_arrive_by_themselves_while_somebody_looks(dbus_world: QemuNativeRunner) -> None:
    desktop = machine_of(dbus_world).desktop
    assert isinstance(desktop, DbusDesktop)
    dbus_world.exec(f"{PAINT} '#aa0000'")
    wait_until(lambda: desktop.newest().array[400, 640].tolist() == [170, 0, 0], deadline=soon(), awaited="red")
    dbus_world.exec(f"{PAINT} '#0000aa'")
    wait_until(lambda: desktop.newest().array[400, 640].tolist() == [0, 0, 170], deadline=soon(), awaited="blue")


def test_the_environment_chooses_before_the_spec(make_runner: MakeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "GYM_ANYTHING_QEMU_FAST_IO_BACKEND"
    monkeypatch.setenv(name, "guest")
    options: dict[str, Any] = {"fast_io_backend": "dbus"}
    assert make_runner(runner_options=options)._plan_of_machine().frames == "guest"
    monkeypatch.setenv(name, "")
    assert make_runner(runner_options=options)._plan_of_machine().frames == "dbus"
    assert make_runner()._plan_of_machine().frames == "qmp"
    monkeypatch.setenv(name, "vnc")
    with pytest.raises(SettingInvalid, match="qmp, dbus, guest"):
        make_runner()._plan_of_machine()
    assert QemuNativeRunner.validate_options(spec_of(runner_options={"fast_io_backend": "vnc"}))
