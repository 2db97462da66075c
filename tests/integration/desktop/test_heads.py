"""Several heads: the declared screen is served, whole and alone; others of the same X server are left as they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from gym_anything.actions.model import Buttons, Click, Move, Scroll, TypeText
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.screen import XVFB, Probe, Screen, soon
from tests.integration.desktop.servers import XORG

pytestmark = pytest.mark.real

EXIT_X_LACKS = 4
FIRST, SECOND = (800, 600), (640, 480)


class TwoScreens:
    """An X server with two screens; the service under test has the second, another the first."""

    def __init__(self, screen: Screen, probe_program: Path) -> None:
        self.screen, self._program = screen, probe_program
        self._name = screen.display
        self.other = self._serve(0)
        self.client = self._serve(1)

    def at(self, number: int) -> Screen:
        """Return the screen, so that what is started next is on screen ``number``."""
        self.screen.display = f"{self._name}.{number}"
        return self.screen

    def probe(self, number: int) -> Probe:
        return Probe(self.at(number), self._program, (0, 0, *(FIRST, SECOND)[number]))

    def _serve(self, number: int) -> DesktopClient:
        screen = self.at(number)
        screen.socket = screen.folder / f"desktop-{number}.sock"
        screen.start_service()
        return screen.client()


@pytest.fixture
def two(start_screen: StartScreen, probe_program: Path) -> TwoScreens:
    options = ["-screen", "1", f"{SECOND[0]}x{SECOND[1]}x24"]
    return TwoScreens(start_screen(server=XVFB, size=FIRST, server_options=options, start_service=False), probe_program)


def test_each_screen_is_captured_alone_and_in_its_own_size(two: TwoScreens) -> None:
    first, second = two.probe(0), two.probe(1)
    for n, (probe, client) in enumerate([(first, two.other), (second, two.client)] * 3):
        before = {one: one.frame().picture for one in (two.other, two.client)}
        probe.tell(f"fill {n * 40:02x}20f0 5 5 {300 + n} 200")
        frame = client.frame()
        np.testing.assert_array_equal(frame.array, two.at(n % 2).grab())
        elsewhere = two.client if client is two.other else two.other
        assert elsewhere.frame().picture == before[elsewhere] and frame.picture != before[client]
    assert two.other.size == FIRST and two.client.size == SECOND


def test_input_goes_to_the_declared_screen_wherever_pointer_and_focus_were(two: TwoScreens) -> None:
    first, second = two.probe(0), two.probe(1)
    places = [(0, 0), (639, 479), (0, 479), (17, 300)]
    for place in places:
        two.other.send([Move(700, 500)])
        first.tell("keyboard")
        assert two.client.send([Click("left", *place)]).pointer == place
    first.forget()
    two.other.send([Move(700, 500)])
    first.tell("keyboard")
    two.client.send([Scroll(0, 1)])
    two.other.send([Move(701, 500)])
    first.tell("keyboard")
    two.client.send([Buttons((("right", True),)), Buttons((("right", False),))])
    two.other.send([Move(702, 500)])
    first.tell("keyboard")
    two.client.send([TypeText("ab")])
    presses = second.await_events(6, "button press")
    assert [(int(event[3]), int(event[4])) for event in presses[:4]] == places
    assert [event[2] for event in presses[4:]] == ["5", "3"]
    assert len(second.await_events(2, "key press")) == 2
    first.tell("sync")
    assert first.of("button") == [] and first.of("key") == [], "nothing went to the other screen"


def test_the_pointer_is_drawn_only_where_it_is(two: TwoScreens) -> None:
    two.probe(0), two.probe(1)
    two.client.send([Move(300, 200)])
    assert (two.client.frame(pointer=True).array != two.client.frame().array).any()
    assert (two.other.frame(pointer=True).array == two.other.frame().array).all()
    two.other.send([Move(300, 200)])
    assert (two.client.frame(pointer=True).array == two.client.frame().array).all()
    assert (two.other.frame(pointer=True).array != two.other.frame().array).any()


def test_a_screen_that_is_not_there_is_refused_by_name(two: TwoScreens) -> None:
    name = f"{two.at(2).display}"
    argv = [two.screen.program, "--display", name, "--socket", two.screen.folder / "none.sock"]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    assert run.returncode == EXIT_X_LACKS
    assert "no such screen" in run.stderr and name in run.stderr


@pytest.mark.parametrize("server", [XORG], indirect=True)
def test_two_monitors_are_one_screen(server: str, start_screen: StartScreen, probe_program: Path) -> None:
    """RandR outputs side by side: one picture, input on both, and back to one."""
    screen = start_screen(server=server)
    client = screen.client()
    kept = client.frame()
    screen.run("xrandr", "--addmode", "DUMMY1", "800x600")
    screen.run("xrandr", "--output", "DUMMY1", "--mode", "800x600", "--right-of", "DUMMY0")
    probe = Probe(screen, probe_program, (0, 0, 2080, 800))
    probe.tell("fill 2040a0 1200 100 400 300")
    frame = client.frame()
    assert (frame.width, frame.height) == client.size == (2080, 800)
    np.testing.assert_array_equal(frame.array, screen.grab())
    assert frame.array[200, 1500].tolist() == [0x20, 0x40, 0xA0]
    places = [(10, 10), (2079, 599), (1279, 799), (1280, 0)]
    for place in places:
        assert client.send([Click("left", *place)]).pointer == place
    presses = probe.await_events(len(places), "button press")
    assert [(int(event[3]), int(event[4])) for event in presses] == places
    screen.run("xrandr", "--output", "DUMMY1", "--off")
    frame = client.frame()
    assert (frame.width, frame.height) == (1280, 800) and kept.array.shape == (800, 1280, 3)
    np.testing.assert_array_equal(frame.array, screen.grab())
    assert client.settle(50, 3000, deadline=soon()).settled
