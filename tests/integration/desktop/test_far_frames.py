"""Frames of a desktop on another host are those of the same desktop seen from its own host."""

from __future__ import annotations

import itertools
import random
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gym_anything.actions.model import Click, Move
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.desktop.far_client import FarDesktop
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.far_screen import FarScreen
from tests.integration.desktop.screen import XVNC, Probe, soon
from tests.integration.desktop.test_torn import is_whole

pytestmark = pytest.mark.real


@pytest.fixture
def far(far_screen: FarScreen) -> FarDesktop:
    """A client of the gate."""
    return far_screen.client()


@pytest.fixture
def near(far_screen: FarScreen) -> DesktopClient:
    """A client of the desktop service itself."""
    return far_screen.screen.client()


@pytest.fixture
def probe(far_screen: FarScreen, probe_program: Path) -> Probe:
    """A window over the whole screen."""
    return Probe(far_screen.screen, probe_program, (0, 0, 1280, 800))


def assert_equal(far: FarDesktop, near: DesktopClient) -> None:
    np.testing.assert_array_equal(far.frame().array, near.frame().array)


def test_a_sign_of_life_lies_between_two_frames_and_changes_neither(far: FarDesktop, near: DesktopClient) -> None:
    for _ in range(3):
        assert_equal(far, near)
        far.check_life(deadline=soon(2))
        near.check_life(deadline=soon(2))
    assert_equal(far, near)


def test_frames_equal_those_of_the_local_client_after_random_window_operations(
    far_screen: FarScreen, far: FarDesktop, near: DesktopClient, probe_program: Path
) -> None:
    """S4; also after frames with a loss, with the pointer, and with views kept and dropped in between."""
    chance = random.Random(5)
    probes = [Probe(far_screen.screen, probe_program, (40 * n, 30 * n, 300, 200)) for n in range(3)]
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(120):
        probe = chance.choice(probes)
        box = " ".join(str(chance.randrange(1, limit)) for limit in (1200, 700, 400, 300))
        for _ in range(chance.randrange(3)):
            probe.tell(chance.choice([f"fill {chance.randrange(1 << 24):06x} {box}", f"move {box}"]))
        match chance.randrange(6):
            case 0:
                far.frame(quality=chance.randrange(1, 101))
            case 1:
                far.send([Move(chance.randrange(1280), chance.randrange(800))])
                np.testing.assert_array_equal(far.frame(pointer=True).array, near.frame(pointer=True).array)
            case _:
                assert_equal(far, near)
        if chance.random() < 0.3:
            frame = far.frame()
            kept.append((frame.array, frame.array.copy()))
            kept = kept[-5:]
    assert_equal(far, near)
    for view, copy in kept:
        np.testing.assert_array_equal(view, copy)


def test_a_frame_is_never_older_than_the_request_nor_than_the_input(far: FarDesktop, probe: Probe) -> None:
    """S2: what was drawn before the question is in the answer, every time."""
    for n in range(200):
        grey = n % 255 + 1
        probe.tell(f"fill {grey:02x}{grey:02x}{grey:02x} 0 0 1280 800")
        frame = far.frame()
        assert frame.array[0, 0, 0] == grey and frame.array[799, 1279, 2] == grey, f"round {n}"
    probe.tell("react 00ff00")
    ack = far.send([Click("left", 10, 10)])
    assert far.frame().after_input == ack.number == 1


def test_the_same_picture_has_the_same_number_and_nothing_travels(far_screen: FarScreen, probe: Probe) -> None:
    line = far_screen.line()
    far = far_screen.client(line)
    probe.tell("fill 112233 0 0 100 100")
    first = far.frame()
    before = line.bytes
    second = far.frame()
    assert line.bytes - before < 250, "a question and the answer that nothing has changed"
    assert second.seq > first.seq and second.picture == first.picture and second.array is first.array
    assert second.captured_at >= first.captured_at and abs(time.monotonic() - second.captured_at) < 5
    before = line.bytes
    probe.tell("fill 445566 20 20 1 1")
    third = far.frame()
    assert third.picture != first.picture and third.array[20, 20].tolist() == [0x44, 0x55, 0x66]
    assert first.array[20, 20].tolist() == [0x11, 0x22, 0x33]
    assert line.bytes - before < 20_000, "one pixel does not make a screen travel"


def test_a_loss_is_small_when_asked_for_and_gone_when_not(
    far: FarDesktop, near: DesktopClient, far_screen: FarScreen
) -> None:
    photo = np.asarray(Image.effect_mandelbrot((1280, 800), (-2, -1.2, 0.8, 1.2), 90).convert("RGB")).copy()
    photo[:, :, 0] = np.linspace(0, 255, 1280, dtype=np.uint8)
    path = far_screen.screen.folder / "photo.png"
    Image.fromarray(photo).save(path)
    far_screen.screen.run("hsetroot", "-fill", str(path))
    exact = near.frame().array
    assert exact.std() > 20, "there is something to lose"
    errors = {}
    for quality in (20, 90):
        shown = far.frame(quality=quality).array
        errors[quality] = float(np.abs(shown.astype(int) - exact).mean())
    assert 0 < errors[90] < errors[20] < 12, "worse is sent again when better is asked for"
    worse = far.frame(quality=5).array
    assert float(np.abs(worse.astype(int) - exact).mean()) <= errors[90], "what is there already is not made worse"
    np.testing.assert_array_equal(far.frame().array, exact)
    np.testing.assert_array_equal(far.frame(quality=30).array, exact)


def test_a_quality_that_does_not_exist_is_refused(far: FarDesktop) -> None:
    with pytest.raises(ValueError, match="1 to 100"):
        far.frame(quality=0)
    assert far.frame().width == 1280


def test_views_do_not_change_while_the_screen_does_and_many_can_be_kept(far: FarDesktop, probe: Probe) -> None:
    kept = []
    for n in range(30):
        grey = n + 1
        probe.tell(f"fill {grey:02x}{grey:02x}{grey:02x} 0 0 1280 800")
        frame = far.frame()
        kept.append((grey, frame.array if n % 2 else frame.array[100:200, 50:60]))
    for grey, array in kept:
        assert (array == grey).all()
        assert not array.flags.writeable


def test_no_frame_is_torn(far: FarDesktop, probe: Probe) -> None:
    """S1: by request and as newest, while the screen changes as fast as it can; also while a view is kept."""
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            probe.tell("flip 30 8000")

    flipping = threading.Thread(target=flip)
    flipping.start()
    try:
        kept: list[np.ndarray] = []
        pictures, until = set(), soon(60)
        for n in itertools.takewhile(lambda n: n < 400 or len(pictures) <= 10, itertools.count()):
            assert not until.expired(), "the screen did not change"
            frame = far.frame() if n % 2 else far.newest()
            pictures.add(frame.picture)
            kept = [*kept[-2:], frame.array]
            assert all(is_whole(one) for one in kept)
    finally:
        stop.set()
        flipping.join()


def test_a_change_of_resolution_is_followed(
    start_screen: StartScreen, gate_program: object, stop_far: list[FarScreen]
) -> None:
    screen = start_screen(server=XVNC)
    stop_far.append(FarScreen(screen))
    far, near = stop_far[0].client(), screen.client()
    before = far.frame()
    for size in [(800, 600), (1920, 1080), (640, 480)]:
        screen.run("xrandr", "-s", f"{size[0]}x{size[1]}")
        screen.run("xsetroot", "-solid", "#102030")
        frame = far.frame()
        assert (frame.width, frame.height) == size == far.size
        np.testing.assert_array_equal(frame.array, near.frame().array)
    assert before.array.shape == (800, 1280, 3), "an old frame stays as it is"


def test_several_far_clients_see_the_same(
    far_screen: FarScreen, far: FarDesktop, near: DesktopClient, probe: Probe
) -> None:
    others = [far_screen.client() for _ in range(3)]
    for n in range(10):
        probe.tell(f"fill {n * 999:06x} 10 10 500 400")
        for one in (far, *others):
            assert_equal(one, near)


def test_settle_says_whether_the_screen_came_to_rest(far: FarDesktop, probe: Probe) -> None:
    """S3: through the gate as beside it; frames go on meanwhile."""
    calm = far.settle(quiet_ms=60, max_ms=3000)
    assert calm.settled and 55 <= calm.waited_ms < 1000
    probe.tell_only("flip 60 10000")
    began = time.monotonic()
    answers = []
    settling = threading.Thread(target=lambda: answers.append(far.settle(quiet_ms=300, max_ms=400)))
    settling.start()
    frames = 0
    while settling.is_alive():
        far.frame(deadline=soon())
        frames += 1
    settling.join()
    probe.await_done()
    assert not answers[0].settled and answers[0].waited_ms >= 395 and time.monotonic() - began < 3
    assert frames > 5
