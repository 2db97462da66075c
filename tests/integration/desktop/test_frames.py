"""Frames are exactly what the X server shows, when asked, whatever else goes on."""

from __future__ import annotations

import gc
import random
import time
from pathlib import Path

import numpy as np
import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Move
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.conftest import OpenProbe, StartScreen, on_xorg_too
from tests.integration.desktop.screen import XVFB, XVNC, Screen, soon

pytestmark = pytest.mark.real


@on_xorg_too
def test_frames_equal_an_independent_grab_after_random_window_operations(
    screen: Screen, client: DesktopClient, open_probe: OpenProbe
) -> None:
    """S4: exact on Xvfb and Xvnc alike."""
    chance = random.Random(3)
    probes = [open_probe((40 * n, 30 * n, 300, 200)) for n in range(3)]
    for _ in range(30):
        probe = chance.choice(probes)
        box = " ".join(str(chance.randrange(limit)) for limit in (1200, 700, 400, 300))
        colour = f"{chance.randrange(1 << 24):06x}"
        probe.tell(chance.choice([f"fill {colour} {box}", f"move {box}".replace(" 0", " 1")]))
        np.testing.assert_array_equal(client.frame().array, screen.grab())


@on_xorg_too
def test_a_frame_is_never_older_than_the_request(client: DesktopClient, open_probe: OpenProbe) -> None:
    """S2: what was drawn before the question is in the answer, 500 times out of 500."""
    probe = open_probe()
    for n in range(500):
        grey = n % 255 + 1
        probe.tell(f"fill {grey:02x}{grey:02x}{grey:02x} 0 0 1280 800")
        array = client.frame().array
        assert array[0, 0, 0] == grey and array[799, 1279, 2] == grey, f"round {n}"


def test_edges_of_the_screen_are_in_the_frame(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    probe.tell("fill 000000 0 0 1280 800")
    for x, y in [(0, 0), (1279, 0), (0, 799), (1279, 799)]:
        probe.tell(f"fill 0a141e {x} {y} 1 1")
        array = client.frame().array
        assert array[y, x].tolist() == [10, 20, 30]
        assert np.count_nonzero(array.any(axis=2)) == 1
        probe.tell(f"fill 000000 {x} {y} 1 1")


def test_the_same_picture_has_the_same_number_and_seq_grows_always(
    client: DesktopClient, open_probe: OpenProbe
) -> None:
    probe = open_probe()
    probe.tell("fill 112233 0 0 100 100")
    first, second = client.frame(), client.frame()
    assert second.seq > first.seq and second.picture == first.picture and second.captured_at > first.captured_at
    probe.tell("fill 445566 0 0 100 100")
    third = client.frame()
    assert third.picture != first.picture
    assert abs(time.monotonic() - third.captured_at) < 5


@on_xorg_too
def test_views_do_not_change_while_the_screen_does_and_many_can_be_kept(
    client: DesktopClient, open_probe: OpenProbe
) -> None:
    probe = open_probe()
    kept = []
    for n in range(30):
        grey = n + 1
        probe.tell(f"fill {grey:02x}{grey:02x}{grey:02x} 0 0 1280 800")
        frame = client.frame()
        kept.append((grey, frame.array if n % 2 else frame.array[100:200, 50:60]))
    for grey, array in kept:
        assert (array == grey).all()
        assert not array.flags.writeable


def test_slots_are_free_again_when_views_are_gone(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    frames = []
    for n in range(12):
        probe.tell(f"fill {n + 1:06x} 0 0 1280 800")
        frames.append(client.frame())
    views = [frame for frame in frames if frame.array.base is not None]
    assert 3 <= len(views) < 12, "some were views, the others copies"
    del frames, views
    gc.collect()
    probe.tell("fill ffffff 0 0 1280 800")
    assert client.frame().array.base is not None


def test_newest_follows_without_asking_and_is_at_once_right_after_a_pause(
    client: DesktopClient, open_probe: OpenProbe
) -> None:
    probe = open_probe()
    client.frame()
    probe.tell("fill 123456 0 0 1280 800")
    wait_until(
        lambda: client.newest().array[5, 5].tolist() == [0x12, 0x34, 0x56], deadline=soon(2), awaited="the change"
    )


def test_two_clients_see_the_same(screen: Screen, client: DesktopClient, open_probe: OpenProbe) -> None:
    probe, other = open_probe(), screen.client()
    for n in range(20):
        probe.tell(f"fill {n * 999:06x} 10 10 500 400")
        one, two = client.frame(), other.frame()
        assert one.picture == two.picture
        np.testing.assert_array_equal(one.array, two.array)


@on_xorg_too
def test_the_pointer_is_drawn_only_when_asked_for(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    probe.tell("fill 808080 0 0 1280 800")
    for x, y in [(600, 400), (0, 0), (1279, 799)]:
        client.send([Move(x, y)])
        plain, drawn = client.frame(), client.frame(pointer=True)
        assert (plain.array == 128).all()
        changed = np.argwhere((drawn.array != 128).any(axis=2))
        assert len(changed) > 0
        assert abs(changed - [y, x]).max() < 40
        assert (client.frame().array == 128).all(), "it must not stay in later frames"


def test_frames_without_shared_memory_are_exact_and_say_so(start_screen: StartScreen, probe_program: object) -> None:
    screen = start_screen(server=XVFB, server_options=["-extension", "MIT-SHM"])
    client = screen.client()
    assert not client.info().shared_memory
    assert "without shared memory" in client.info().note
    screen.run("xsetroot", "-solid", "#336699")
    np.testing.assert_array_equal(client.frame().array, screen.grab())


@pytest.mark.parametrize("depth", [16, 24])
def test_other_pixel_formats_are_converted(start_screen: StartScreen, depth: int) -> None:
    screen = start_screen(server=XVFB, server_options=["-screen", "0", f"333x201x{depth}"])
    client = screen.client()
    screen.run("xsetroot", "-solid", "#ff8000")
    red, green, blue = client.frame().array[100, 100].tolist()
    assert (red, blue) == (255, 0) and abs(green - 128) <= 8
    assert client.size == (333, 201)


def test_a_change_of_resolution_is_followed(start_screen: StartScreen) -> None:
    screen = start_screen(server=XVNC)
    client = screen.client()
    before = client.frame()
    for size in [(800, 600), (1920, 1080), (640, 480)]:
        screen.run("xrandr", "-s", f"{size[0]}x{size[1]}")
        screen.run("xsetroot", "-solid", "#102030")
        frame = client.frame()
        assert (frame.width, frame.height) == size == client.size
        np.testing.assert_array_equal(frame.array, screen.grab())
    assert before.array.shape == (800, 1280, 3), "an old frame stays as it is"


def test_frames_that_nobody_asks_for_are_made_at_a_bounded_rate(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    first, began = client.newest().picture, time.monotonic()
    probe.tell("flip 100 5000")
    made, took_s = client.newest().picture - first, time.monotonic() - began
    assert 5 <= made <= 20 * took_s + 3, f"{made} pictures in {took_s:.2f} s"


def test_a_desktop_that_nobody_asks_gives_its_memory_back(client: DesktopClient, screen: Screen) -> None:
    def resident_mib() -> float:
        lines = Path(f"/proc/{screen.service.pid}/smaps_rollup").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) / 1024

    before = client.frame().array.copy()
    wait_until(
        lambda: resident_mib() < 8, deadline=Deadline.after(15), awaited="rest", status=lambda: f"{resident_mib()} MiB"
    )
    np.testing.assert_array_equal(client.frame().array, before)
    np.testing.assert_array_equal(client.frame().array, screen.grab())


@on_xorg_too
def test_settle_says_whether_the_screen_came_to_rest(client: DesktopClient, open_probe: OpenProbe) -> None:
    """S3: settle detection, bounded, says whether it settled."""
    probe = open_probe()
    calm = client.settle(quiet_ms=60, max_ms=3000)
    assert calm.settled and 55 <= calm.waited_ms < 1000
    probe.tell_only("flip 100 10000")
    busy = client.settle(quiet_ms=300, max_ms=400)
    assert not busy.settled and 395 <= busy.waited_ms < 900
    late = client.settle(quiet_ms=100, max_ms=10000)
    probe.await_done()
    assert late.settled and late.waited_ms > 100


def test_settle_ignores_what_blinks(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe((100, 100, 20, 20))
    client.settle(quiet_ms=50, max_ms=2000)
    probe.tell_only("flip 150 5000")
    assert client.settle(quiet_ms=150, max_ms=500, ignore=[(90, 90, 60, 60)]).settled
    probe.await_done()
    probe.tell_only("flip 150 5000")
    assert not client.settle(quiet_ms=150, max_ms=500, ignore=[(90, 90, 15, 15)]).settled
    probe.await_done()
