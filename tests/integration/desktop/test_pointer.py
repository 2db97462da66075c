"""What the pointer does, as an independent X client sees it arrive."""

from __future__ import annotations

import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Buttons, Click, Drag, KeysDown, Move, Scroll, TypeText
from gym_anything.errors import ActionError
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.conftest import OpenProbe, on_xorg_too
from tests.integration.desktop.screen import Screen, soon

pytestmark = pytest.mark.real

BUTTON_1_HELD = 0x100


@on_xorg_too
def test_every_click_arrives_where_it_was_sent_and_is_read_back(client: DesktopClient, open_probe: OpenProbe) -> None:
    """P1, P7: 0 is a coordinate, and success is reported on evidence."""
    probe = open_probe()
    places = [(0, 0), (1279, 799), (0, 799), (1279, 0)] + [(7 * n % 1280, 11 * n % 800) for n in range(300)]
    for n, (x, y) in enumerate(places):
        ack = client.send([Click("left", x, y)])
        assert ack.number == n + 1 and ack.pointer == (x, y)
    presses = probe.await_events(len(places), "button press")
    assert [(int(e[3]), int(e[4])) for e in presses] == places
    assert len(probe.await_events(len(places), "button release")) == len(places)


@pytest.mark.parametrize(("button", "number"), [("left", "1"), ("middle", "2"), ("right", "3")])
def test_each_button_clicks(client: DesktopClient, open_probe: OpenProbe, button: str, number: str) -> None:
    probe = open_probe()
    client.send([Click(button, 5, 6)])  # type: ignore[arg-type]
    assert probe.await_events(1, "button press")[0][2:5] == [number, "5", "6"]


@pytest.mark.parametrize("count", [2, 3])
def test_multiple_clicks_lie_within_the_usual_time(client: DesktopClient, open_probe: OpenProbe, count: int) -> None:
    """P3: presses inside the guest's double-click time (250 ms is the shortest in use), and not all at once: a window manager
    holds each until it has looked at it, and GTK takes presses that come faster for fewer clicks.
    """
    probe = open_probe()
    client.send([Click("left", 300, 200, count)])
    times = [int(event[6]) for event in probe.await_events(count, "button press")]
    assert len(times) == count and times[0] < times[-1] < times[0] + 250
    assert len(probe.await_events(count, "button release")) == count


@on_xorg_too
def test_a_drag_is_one_press_many_moves_and_one_release(client: DesktopClient, open_probe: OpenProbe) -> None:
    """P4: with a dwell at both ends."""
    probe = open_probe()
    ack = client.send([Drag("left", (100, 120), (700, 500))])
    assert ack.pointer == (700, 500)
    release = probe.await_events(1, "button release")[0]
    (press,) = probe.of("button press")
    assert press[2:5] == ["1", "100", "120"] and release[2:5] == ["1", "700", "500"]
    assert int(release[5]) & BUTTON_1_HELD
    moves = [tuple(map(int, event[1:])) for event in probe.of("motion")]
    assert len(moves) >= 12
    assert moves == sorted(moves), "along the line, never back"
    assert 60 <= int(release[6]) - int(press[6]) <= 3000


def test_a_drag_to_the_same_place_and_to_the_edges_works(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    for start, end in [((5, 5), (5, 5)), ((0, 0), (1279, 799)), ((1279, 799), (0, 0)), ((10, 10), (13, 10))]:
        probe.forget()
        client.send([Drag("right", start, end)])
        release = probe.await_events(1, "button release")[0]
        assert (int(release[3]), int(release[4])) == end
        assert len(probe.of("button press")) == 1


@on_xorg_too
def test_scroll_goes_four_ways_with_one_sign_convention(client: DesktopClient, open_probe: OpenProbe) -> None:
    """P5: positive is down and right; one unit is one wheel click."""
    probe = open_probe()
    for op, expected in [
        (Scroll(0, 3), ["5"] * 3),
        (Scroll(0, -2), ["4"] * 2),
        (Scroll(4, 0), ["7"] * 4),
        (Scroll(-1, 0), ["6"]),
        (Scroll(1, 1), ["5", "7"]),
    ]:
        probe.forget()
        client.send([Move(50, 60), op])
        assert [event[2] for event in probe.await_events(len(expected), "button press")] == expected
        assert len(probe.await_events(len(expected), "button release")) == len(expected)


def test_a_held_button_stays_down_across_batches_and_is_not_pressed_twice(
    client: DesktopClient, open_probe: OpenProbe
) -> None:
    probe = open_probe()
    client.send([Move(10, 10), Buttons((("left", True),))])
    client.send([Buttons((("left", True),)), Move(200, 200)])
    assert len(probe.await_events(1, "button press")) == 1
    with pytest.raises(ActionError, match="held down"):
        client.send([Click("left", 20, 20)])
    client.send([Click("right", 30, 30)])
    client.send([Buttons((("left", False),))])
    client.send([Buttons((("left", False),))])
    released = [event[2] for event in probe.await_events(2, "button release")]
    assert released == ["3", "1"]


def test_what_a_client_holds_is_released_when_it_goes(
    screen: Screen, client: DesktopClient, open_probe: OpenProbe
) -> None:
    """T5: however it goes; what another client holds stays."""
    probe, other = open_probe(), screen.client()
    probe.tell("keyboard")
    client.send([Move(10, 10), Buttons((("left", True),)), KeysDown(("Shift_L",))])
    other.send([Buttons((("right", True),))])
    client.close()
    assert probe.await_events(1, "button release")[0][2] == "1"
    assert len(probe.await_events(1, "key release")) == 1
    other.release_held()
    assert [event[2] for event in probe.await_events(2, "button release")] == ["1", "3"]


@pytest.mark.parametrize(
    "ops",
    [
        [Click("left", 1280, 10)],
        [Click("left", 10, 800)],
        [Move(20000, 5)],
        [Move(5, 5), Drag("left", (1, 1), (1280, 1))],
        [Move(5, 5), Click("left", 5, 5), TypeText("bad \x01 text")],
        [Buttons((("left", True),)), Click("left", 5, 5)],
        [Click("left", 5, 5, 99)],
        [Scroll(0, 20000)],
    ],
)
def test_a_batch_that_cannot_be_done_is_refused_whole(
    client: DesktopClient, open_probe: OpenProbe, ops: list[object]
) -> None:
    """P2: nothing of it is done, and the next batch works."""
    probe = open_probe()
    client.send([Move(640, 400)])
    probe.forget()
    with pytest.raises(ActionError):
        client.send(ops)  # type: ignore[arg-type]
    assert client.pointer() == (640, 400)
    probe.tell("sync")
    assert probe.events == []
    assert client.send([Move(641, 400)]).number == 2, "what is refused does not count"


@on_xorg_too
def test_a_frame_follows_the_input_it_was_asked_after(client: DesktopClient, open_probe: OpenProbe) -> None:
    """S2: the frame names the last acknowledged input; the reaction of a client is seen at once."""
    probe = open_probe()
    for n in range(1, 101):
        colour = (n * 2, 255 - n, n)
        probe.tell("react {:02x}{:02x}{:02x}".format(*colour))
        ack = client.send([Click("left", 10, 10)])
        assert client.frame().after_input == ack.number == n
        wait_until(
            lambda c=colour: tuple(client.frame().array[700, 900].tolist()) == c,
            deadline=soon(2),
            awaited="the reaction",
        )
