"""Frames through memory that the reader shares with a service whose kernel it does not: here a plain file stands for it."""

from __future__ import annotations

import gc
import mmap
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Buttons, Click, Move
from gym_anything.errors import BadWire, CaptureFailed, InputDeliveryUnknown, WorldLost
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.lane import UnixLanes
from gym_anything.runtime.desktop.wire import FIELDS
from gym_anything.runtime.qemu.region_desktop import RegionDesktop
from gym_anything.runtime.qemu.shared_region import REGION_BYTES
from tests.integration.desktop.conftest import OpenProbe, StartScreen
from tests.integration.desktop.screen import XVFB, Screen, soon
from tests.integration.desktop.test_randr import LARGEST, OUTPUTS, SIZES, offer_sizes, resize

pytestmark = pytest.mark.real


class FileRegion:
    """A file in the place of a device: there once it is plugged in."""

    def __init__(self, path: Path, size: int = REGION_BYTES) -> None:
        self.path = path
        self.size = size
        self.later: list[threading.Timer] = []

    def plug(self, deadline: Deadline) -> mmap.mmap:
        if not self.path.exists():
            hidden = self.path.with_suffix(".hidden")
            hidden.touch(mode=0o600)
            with hidden.open("r+b") as file:
                file.truncate(self.size)
            timer = threading.Timer(0.05, hidden.rename, (self.path,))  # the other side sees it a little later
            timer.start()
            self.later.append(timer)
            with hidden.open("rb") as file:
                return mmap.mmap(file.fileno(), self.size, prot=mmap.PROT_READ)
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), self.size, prot=mmap.PROT_READ)

    def unplug(self, deadline: Deadline) -> None:
        self.path.unlink(missing_ok=True)


class NoOtherScreen:
    """What a machine's own screen would show."""

    def picture(self, deadline: Deadline) -> tuple[RgbArray, float]:
        return np.full((8, 8, 3), 7, np.uint8), 0.0


OpenRegion = Callable[..., RegionDesktop]


@pytest.fixture
def screen(start_screen: StartScreen, sanitized_program: Path) -> Screen:
    """A screen whose service stops at the first wrong access."""
    screen = start_screen(server=XVFB, start_service=False, program=sanitized_program)
    screen.service = screen.start_service("--region", str(screen.folder / "region"))
    return screen


@pytest.fixture
def open_region() -> Iterator[OpenRegion]:
    opened: list[tuple[RegionDesktop, FileRegion]] = []

    def open_one(screen: Screen, size: int = REGION_BYTES) -> RegionDesktop:
        region = FileRegion(screen.folder / "region", size)
        lanes = UnixLanes(screen.socket, screen.token).reach(soon())
        opened.append((RegionDesktop(lanes, NoOtherScreen(), region), region))
        return opened[-1][0]

    yield open_one
    for desktop, region in opened:
        desktop.close()
        for timer in region.later:
            timer.join()


def test_frames_equal_an_independent_grab_after_random_window_operations(
    screen: Screen, open_region: OpenRegion, open_probe: OpenProbe
) -> None:
    """S4; also when other readers and waits take their part of what is drawn in between."""
    desktop, other, chance = open_region(screen), screen.client(), random.Random(5)
    probes = [open_probe((40 * n, 30 * n, 300, 200)) for n in range(3)]
    for n in range(24):
        box = " ".join(str(chance.randrange(limit)) for limit in (1200, 700, 400, 300))
        colour = f"{chance.randrange(1 << 24):06x}"
        chance.choice(probes).tell(chance.choice([f"fill {colour} {box}", f"move {box}".replace(" 0", " 1")]))
        if n % 3 == 0:
            np.testing.assert_array_equal(other.frame().array, screen.grab())
        if n % 5 == 0:
            assert desktop.settle(20, 2000).settled
        if n % 2 == 0:
            np.testing.assert_array_equal(desktop.frame().array, screen.grab())
    np.testing.assert_array_equal(other.frame().array, desktop.frame().array)


def test_a_frame_is_never_older_than_the_request_and_names_the_last_input(
    screen: Screen, open_region: OpenRegion, open_probe: OpenProbe
) -> None:
    """S2."""
    desktop, probe = open_region(screen), open_probe()
    for n in range(100):
        grey = n % 255 + 1
        probe.tell(f"fill {grey:02x}{grey:02x}{grey:02x} 0 0 1280 800")
        number = desktop.send([Click("left", 7, 8)]).number
        frame = desktop.frame()
        assert frame.array[0, 0, 0] == grey and frame.array[799, 1279, 2] == grey, f"round {n}"
        assert frame.after_input == number


def test_a_frame_shows_one_moment_of_all_that_is_drawn(
    screen: Screen, open_region: OpenRegion, open_probe: OpenProbe
) -> None:
    """S1: the right half is never drawn before the left one."""
    desktop, probe = open_region(screen), open_probe()
    seen, until = set(), soon(60)
    while len(seen) <= 12:
        assert not until.expired(), "the screen did not change"
        probe.tell_only("pair 250")
        for _ in range(60):
            array = desktop.frame().array
            left, right = array[::5, 0].astype(int), array[::5, 1279].astype(int)
            assert (left == left[0, 0]).all() and (right == right[0, 0]).all()
            assert (left[0, 0] - right[0, 0]) % 256 <= 1
            seen.add(int(left[0, 0]))
        probe.await_done()


def test_views_do_not_change_and_an_unchanged_screen_is_the_same_array(
    screen: Screen, open_region: OpenRegion, open_probe: OpenProbe
) -> None:
    desktop, probe = open_region(screen), open_probe()
    kept = []
    for grey in range(1, 12):
        probe.tell(f"fill {grey:02x}{grey:02x}{grey:02x} 0 0 1280 800")
        frame = desktop.frame()
        kept.append((grey, frame.array if grey % 2 else frame.array[100:200, 50:60]))
    for grey, array in kept:
        assert (array == grey).all() and not array.flags.writeable
    del kept
    gc.collect()
    first, second = desktop.frame(), desktop.frame()
    assert second.array is first.array and second.picture == first.picture and second.seq > first.seq


def test_a_change_of_resolution_is_followed(start_screen: StartScreen, open_region: OpenRegion) -> None:
    screen = start_screen(server=XVFB, size=LARGEST, start_service=False)
    screen.service = screen.start_service("--region", str(screen.folder / "region"))
    desktop = open_region(screen)
    offer_sizes(screen, OUTPUTS[XVFB])
    for size in SIZES:
        resize(screen, OUTPUTS[XVFB], size)
        frame = desktop.frame()
        assert (frame.width, frame.height) == size == desktop.size
        np.testing.assert_array_equal(frame.array, screen.grab())


def test_the_pointer_comes_from_the_machines_own_screen(screen: Screen, open_region: OpenRegion) -> None:
    desktop = open_region(screen)
    assert desktop.frame(pointer=True).array.shape == (8, 8, 3)
    assert desktop.frame().array.shape == (800, 1280, 3)


def test_closing_gives_the_region_back_and_the_next_reader_begins_anew(
    screen: Screen, open_region: OpenRegion, open_probe: OpenProbe
) -> None:
    first, probe = open_region(screen), open_probe()
    first.frame()
    mapped = Path(f"/proc/{screen.service.pid}/maps")
    assert str(screen.folder / "region") in mapped.read_text()
    first.close()
    assert "region" not in mapped.read_text()
    assert str(screen.folder) not in Path(f"/proc/{screen.server.pid}/maps").read_text()
    probe.tell("fill 123456 0 0 1280 800")
    np.testing.assert_array_equal(open_region(screen).frame().array, screen.grab())


def test_the_region_is_the_last_readers_and_the_other_gets_it_back_by_asking_again(
    screen: Screen, open_region: OpenRegion
) -> None:
    first, second = open_region(screen), open_region(screen)
    first.frame()
    second.frame()
    with pytest.raises(CaptureFailed, match="no shared region"):
        first.frame()
    np.testing.assert_array_equal(first.frame().array, screen.grab())


def test_a_service_that_was_started_again_is_reached_again(screen: Screen, open_region: OpenRegion) -> None:
    desktop = open_region(screen)
    desktop.frame()
    screen.service.terminate()
    screen.service.wait(10)
    with pytest.raises(WorldLost):
        desktop.frame()
    screen.service = screen.start_service("--region", str(screen.folder / "region"))
    open_region(screen).frame()


@pytest.mark.parametrize("size, reason", [(2 << 20, "too small"), (0, "size")])
def test_a_region_that_is_of_no_use_is_refused(screen: Screen, open_region: OpenRegion, size: int, reason: str) -> None:
    desktop = open_region(screen)
    (screen.folder / "region").write_bytes(b"")
    with (screen.folder / "region").open("r+b") as file:
        file.truncate(size)
    region = desktop._region
    assert isinstance(region, FileRegion)
    region.size = size
    with pytest.raises((CaptureFailed, ValueError), match=f"{reason}|empty file"):
        desktop.frame()


def test_without_a_region_it_says_so(start_screen: StartScreen, open_region: OpenRegion) -> None:
    screen = start_screen(server=XVFB)
    with pytest.raises(CaptureFailed, match="--region"):
        open_region(screen).frame()


def test_boxes_that_lie_outside_are_never_read(
    screen: Screen, open_region: OpenRegion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took the service over inside a machine can send what it likes."""
    desktop = open_region(screen)
    desktop.frame()
    for box in [(0, 0, 1281, 1, 4096), (0, 799, 1, 2, 4096), (0, 0, 1280, 800, REGION_BYTES - 4)]:
        with pytest.raises(BadWire, match="outside"):
            desktop._boxes(FIELDS["REGION_BOX"].pack(*box), 1280, 800)
    with pytest.raises(BadWire, match="something else"):
        desktop._boxes(b"123", 1280, 800)


def test_what_is_held_is_released_and_nothing_is_asked_when_nothing_was_sent_since(
    screen: Screen, open_region: OpenRegion, open_probe: OpenProbe
) -> None:
    desktop, idle, probe = open_region(screen), open_region(screen), open_probe()
    desktop.send([Move(20, 20), Buttons((("left", True),))])
    desktop.release_held()
    assert probe.await_events(1, "button release")[0][2:5] == ["1", "20", "20"]
    screen.service.kill()
    screen.service.wait()
    desktop.release_held()
    idle.release_held()
    with pytest.raises((WorldLost, InputDeliveryUnknown)):
        desktop.send([Buttons((("left", True),))])
    with pytest.raises(WorldLost):
        desktop.release_held()
