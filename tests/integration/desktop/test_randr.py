"""The screen changes its size, again and again, under those who look at it and act on it."""

from __future__ import annotations

import random
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from gym_anything.actions.model import Click
from gym_anything.errors import ActionError, GymAnythingError
from gym_anything.runtime.desktop.client import DesktopClient
from gym_anything.runtime.desktop.link import Link, close_all
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.screen import Probe, Screen, soon
from tests.integration.desktop.servers import XORG, XVFB, XVNC, modeline

pytestmark = pytest.mark.real

LARGEST = (1600, 1200)  # Xvfb cannot grow beyond what it began with
SIZES = [(640, 480), (801, 603), (1600, 900), (480, 800), (1023, 1200), (1280, 720), (64, 64), LARGEST]
OUTPUTS = {XVFB: "screen", XVNC: "VNC-0", XORG: "DUMMY0"}
CHANGES = 20


def offer_sizes(screen: Screen, output: str) -> None:
    """Teach the server modes of all sizes."""
    for size in SIZES:
        name = f"ours-{size[0]}x{size[1]}"
        screen.run("xrandr", "--newmode", name, *modeline(size).split())
        screen.run("xrandr", "--addmode", output, name)


def resize(screen: Screen, output: str, size: tuple[int, int]) -> None:
    """Change the size; when this returns the server has done so."""
    screen.run("xrandr", "--output", output, "--mode", f"ours-{size[0]}x{size[1]}")


class Reader:
    """Reads frames all the time, and says what was wrong with any."""

    def __init__(self, client: DesktopClient) -> None:
        self.frames = 0
        self.wrong: list[str] = []
        self.sizes: set[tuple[int, int]] = set()
        self._client = client
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                frame = self._client.frame()
            except GymAnythingError as error:
                self.wrong.append(repr(error))
                return
            self.frames += 1
            self.sizes.add((frame.width, frame.height))
            if frame.array.shape[:2] != (frame.height, frame.width):
                self.wrong.append(f"{frame.array.shape} of {frame.width} x {frame.height}")

    def stop(self) -> None:
        self._over.set()
        self._thread.join(20)


def assert_clicks_arrive(client: DesktopClient, probe: Probe, size: tuple[int, int]) -> None:
    """At the new corners, at once, and not beyond them."""
    width, height = size
    probe.forget()
    for corner in [(width - 1, height - 1), (0, height - 1), (width - 1, 0)]:
        assert client.send([Click("left", *corner)]).pointer == corner
    presses = [(int(event[3]), int(event[4])) for event in probe.await_events(3, "button press")]
    assert presses == [(width - 1, height - 1), (0, height - 1), (width - 1, 0)]
    for beyond in [(width, 0), (0, height)]:
        with pytest.raises(ActionError):
            client.send([Click("left", *beyond)])


@pytest.mark.parametrize("server", [XVFB, XVNC, XORG], indirect=True)
def test_twenty_changes_under_a_reader_who_keeps_what_he_saw(
    server: str, start_screen: StartScreen, probe_program: Path
) -> None:
    """Grown, shrunk, higher than wide, of odd width; none of these servers can rotate."""
    screen = start_screen(server=server, size=LARGEST)
    client, reading = screen.client(), Reader(screen.client())
    try:
        offer_sizes(screen, OUTPUTS[server])
        probe = Probe(screen, probe_program, (0, 0, *LARGEST))
        chance, kept, size = random.Random(20), [], LARGEST
        for n in range(CHANGES):
            size = chance.choice([other for other in SIZES if other != size])
            resize(screen, OUTPUTS[server], size)
            assert_clicks_arrive(client, probe, size)
            colour = (n * 12, 255 - n * 12, n)
            probe.tell("fill {:02x}{:02x}{:02x} 0 0 1600 1200".format(*colour))
            frame = client.frame()
            assert (frame.width, frame.height) == size == client.size
            assert (frame.array == colour).all()
            if n % 5 == 0:
                probe.tell(f"fill 123456 {size[0] - 9} {size[1] - 7} 5 5")
                np.testing.assert_array_equal(client.frame().array, screen.grab())
            kept.append((frame, colour))
    finally:
        reading.stop()
    assert reading.wrong == [] and reading.frames > CHANGES
    assert reading.sizes <= {*SIZES}
    for frame, colour in kept:
        assert (frame.array == colour).all(), "a view stays as it was"


@pytest.mark.parametrize("server", [XVFB, XVNC, XORG], indirect=True)
def test_a_new_mapping_comes_with_the_first_frame_of_a_new_size(server: str, start_screen: StartScreen) -> None:
    screen = start_screen(server=server, size=LARGEST)
    offer_sizes(screen, OUTPUTS[server])
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(str(screen.socket))
    link = Link(connected, "FRAMES")
    ask = FIELDS["FRAME_REQUEST"].pack(CONSTANTS["FRAME_FRESH"])
    try:
        link.open(screen.token, soon())
        for size in [LARGEST, (801, 603), (1600, 900)]:
            if size != LARGEST:
                resize(screen, OUTPUTS[server], size)
            answers = [link.request("FRAME_REQUEST", ask, "FRAME", soon()) for _ in range(3)]
            for answer in answers:
                assert answer.fields[-2:] == size
            assert [bool(answer.fields[0] & CONSTANTS["FRAME_NEW_MAPPING"]) for answer in answers] == [
                True,
                False,
                False,
            ]
            assert [len(answer.fds) for answer in answers] == [2, 0, 0]
            for answer in answers:
                close_all(answer.fds)
    finally:
        link.close()


def test_a_change_nobody_looked_at_is_known_to_the_hands(start_screen: StartScreen, probe_program: Path) -> None:
    """A service that rests does not look at the screen; a click must go to the new corner all the same."""
    screen = start_screen(server=XVNC, size=(640, 480))
    client = screen.client()
    offer_sizes(screen, OUTPUTS[XVNC])
    probe = Probe(screen, probe_program, (0, 0, *LARGEST))
    for size in [LARGEST, (480, 800), (1600, 900)]:
        resize(screen, OUTPUTS[XVNC], size)
        assert_clicks_arrive(client, probe, size)
