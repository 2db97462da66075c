"""What blinks is learnt and said; what is no small blink is never left out."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Box, Click, TypeText
from gym_anything.runtime.desktop.client import DesktopClient
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import OpenProbe, StartScreen, on_xorg_too
from tests.integration.desktop.screen import XVNC, Screen, soon
from tests.integration.desktop.test_settle import stopped
from tests.integration.desktop.test_typing import Editor

pytestmark = pytest.mark.real

LONG_QUIET_MS = 1800.0  # after a key GTK shows the caret for 1.2 s before it blinks again


def lies_in(inner: Box, outer: Box) -> bool:
    return (
        inner[0] >= outer[0]
        and inner[1] >= outer[1]
        and inner[0] + inner[2] <= outer[0] + outer[2]
        and inner[1] + inner[3] <= outer[1] + outer[3]
    )


@on_xorg_too
def test_a_small_blink_is_learnt_named_and_known_again(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    probe.tell_only("blink 12 250000 200 100 3 16")
    found = client.settle(quiet_ms=600, max_ms=5000)
    assert found.settled and found.waited_ms < 2500
    assert found.ignored == ((200, 100, 3, 16),)
    again = client.settle(quiet_ms=400, max_ms=5000)
    assert again.settled and again.waited_ms < 600, "it is known by now"
    assert again.ignored == ((200, 100, 3, 16),)
    strict = client.settle(quiet_ms=400, max_ms=600, learn=False)
    assert not strict.settled and strict.ignored == ()
    probe.await_done()


def test_a_change_beside_what_blinks_counts(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe, other = open_probe((0, 0, 300, 300)), open_probe((600, 300, 300, 300))
    probe.tell_only("blink 16 250000 20 10 3 16")
    assert client.settle(quiet_ms=500, max_ms=5000).settled
    other.tell_only("flip 10 100000")
    late = client.settle(quiet_ms=300, max_ms=5000)
    other.await_done()
    assert late.settled and late.waited_ms > 900, "it waited for the other window"
    assert late.ignored == ((20, 10, 3, 16),)
    probe.await_done()


@pytest.mark.parametrize(
    ("command", "quiet_ms"),
    [
        ("blink 12 250000 100 100 300 200", 400),  # a flashing window
        ("blink 100 30000 100 100 8 8", 500),  # a flicker
        pytest.param("flip 12 250000", 400, marks=pytest.mark.soak),  # slow pictures
    ],
)
def test_what_is_large_or_quick_or_has_many_pictures_is_never_left_out(
    client: DesktopClient, open_probe: OpenProbe, command: str, quiet_ms: float
) -> None:
    probe = open_probe((100, 100, 500, 400))
    probe.tell_only(command)
    found = client.settle(quiet_ms=quiet_ms, max_ms=2500)
    assert not found.settled and found.ignored == ()
    probe.await_done()


def test_a_change_that_reaches_out_of_a_given_box_counts(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe((100, 100, 300, 300))
    probe.tell_only("blink 30 50000 0 0 300 300")
    found = client.settle(quiet_ms=500, max_ms=900, ignore=[(100, 100, 300, 100)])
    assert not found.settled
    assert client.settle(quiet_ms=150, max_ms=700, ignore=[(90, 90, 320, 320)]).settled
    probe.await_done()


def test_what_clicks_toggle_is_no_blink(client: DesktopClient, open_probe: OpenProbe) -> None:
    """As regular as a caret, but each time it was us."""
    probe = open_probe((100, 100, 16, 16))
    for n in range(6):
        probe.tell(f"react {('ffffff', '000000')[n % 2]}")
        client.send([Click("left", 105, 105)])
        found = client.settle(quiet_ms=200, max_ms=3000)
        assert found.settled and found.ignored == (), f"click {n}"


def test_what_is_drawn_again_as_it_was_is_no_change(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    probe.tell("fill 808080 0 0 1280 800")
    client.settle(quiet_ms=50, max_ms=2000)
    for _ in range(5):
        probe.tell("fill 808080 0 0 1280 800")
    assert client.settle(quiet_ms=100, max_ms=3000).waited_ms < 500


@pytest.fixture
def desktop(start_screen: StartScreen, require_backend: RequireBackend) -> Screen:
    """A screen with a window manager."""
    require_backend("openbox", shutil.which("openbox") is not None, "openbox is not installed")
    screen = start_screen(server=XVNC)
    screen.start(["openbox"])
    wait_until(lambda: "= _NET" in screen.run("xprop", "-root", "_NET_SUPPORTED"), deadline=soon(), awaited="openbox")
    return screen


def assert_learnt(client: DesktopClient, within: Box, *, max_ms: float = 9000) -> None:
    """The screen settles with what was learnt, and not without."""
    found = client.settle(LONG_QUIET_MS, max_ms)
    assert found.settled and found.ignored, found
    assert all(lies_in(box, within) for box in found.ignored), found.ignored
    strict = client.settle(LONG_QUIET_MS, 2500, learn=False)
    assert not strict.settled, "it blinks"


def test_the_caret_of_an_editor_is_learnt_and_typing_beside_it_is_waited_for(
    start_screen: StartScreen, require_backend: RequireBackend
) -> None:
    require_backend("mousepad", shutil.which("mousepad") is not None, "mousepad is not installed")
    screen = start_screen(server=XVNC)
    client = screen.client()
    editor = Editor(screen, client)
    client.send([TypeText("some text")])
    assert_learnt(client, (0, 0, 1280, 800))
    for n in range(3):
        before = client.frame().array.copy()
        with stopped(editor.process.pid, 0.3):
            client.send([TypeText("mmmm")])
            found = client.settle(quiet_ms=150, max_ms=5000)
            shown = client.frame().array
        assert found.settled and found.waited_ms > 250
        assert (shown != before).any(axis=2).sum() > 80, f"round {n}: four letters are there, not only a caret"


@pytest.mark.soak
def test_the_caret_of_a_dialog_is_learnt(desktop: Screen, require_backend: RequireBackend) -> None:
    require_backend("zenity", shutil.which("zenity") is not None, "zenity is not installed")
    client = desktop.client()
    desktop.start(["zenity", "--entry", "--text=name"])
    for what in ("_NET_CLIENT_LIST", "_NET_ACTIVE_WINDOW"):
        wait_until(
            lambda what=what: re.search("0x0*[1-9a-f]", desktop.run("xprop", "-root", what)),
            deadline=soon(),
            awaited=what,
        )
    client.settle(200, 3000)
    client.send([TypeText("a")])
    assert_learnt(client, (0, 0, 1280, 800))


CLOCK = """panel_items = C
panel_size = 100% 30
panel_position = bottom center horizontal
time1_format = %H:%M:%S
time1_font = sans 10
clock_font_color = #ffffff 100
"""


@pytest.mark.soak
def test_a_clock_with_seconds_is_learnt(desktop: Screen, require_backend: RequireBackend) -> None:
    require_backend("tint2", shutil.which("tint2") is not None, "tint2 is not installed")
    config = desktop.folder / "tint2rc"
    config.write_text(CLOCK)
    client = desktop.client()
    desktop.start(["tint2", "-c", config])
    wait_until(lambda: client.frame().array[770:].max() > 200, deadline=soon(), awaited="the clock")
    assert_learnt(client, (0, 770, 1280, 30))


SPINNER = """import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(title="busy")
spinner = Gtk.Spinner()
spinner.start()
window.add(spinner)
window.show_all()
Gtk.main()
"""


@pytest.mark.soak
def test_a_spinner_is_never_left_out(desktop: Screen, require_backend: RequireBackend) -> None:
    python = "/usr/bin/python3"
    has_gtk = sys.platform == "linux" and any(Path("/usr/lib/python3/dist-packages/gi").glob("_gi.*.so"))
    require_backend("gtk", has_gtk, "python3-gi is not installed")
    client = desktop.client()
    desktop.start([python, "-c", SPINNER])
    wait_until(lambda: "0x" in desktop.run("xprop", "-root", "_NET_CLIENT_LIST"), deadline=soon(), awaited="it")
    found = client.settle(quiet_ms=500, max_ms=5000)
    assert not found.settled and found.ignored == ()


@pytest.mark.parametrize(
    "fed",
    [
        ["zenity", "--progress", "--pulsate", "--text=busy"],
        pytest.param(
            ["sh", "-c", "i=0; while [ $i -le 90 ]; do echo $i; i=$((i+1)); sleep 0.35; done | zenity --progress"],
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_progress_bar_is_never_left_out(desktop: Screen, require_backend: RequireBackend, fed: list[str]) -> None:
    require_backend("zenity", shutil.which("zenity") is not None, "zenity is not installed")
    client = desktop.client()
    desktop.start(fed, stdin=-1)
    wait_until(lambda: "0x" in desktop.run("xprop", "-root", "_NET_CLIENT_LIST"), deadline=soon(), awaited="it")
    found = client.settle(quiet_ms=900, max_ms=5000)
    assert not found.settled and found.ignored == ()
