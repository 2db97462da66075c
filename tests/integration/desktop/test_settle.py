"""Settle is honest: a screen that is still because nobody has read the input yet has not settled."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import statistics
import threading
import time
from collections.abc import Iterator

import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, InputOp, PressKeys, TypeText
from gym_anything.runtime.desktop.client import DesktopClient
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import OpenProbe, StartScreen, on_xorg_too
from tests.integration.desktop.screen import XVNC, Screen, soon

pytestmark = pytest.mark.real

RED = 0xC8


@contextlib.contextmanager
def stopped(pid: int, seconds: float) -> Iterator[None]:
    """Stop a process; it goes on after ``seconds``, whatever happens."""
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGCONT))
    timer.start()
    try:
        yield
    finally:
        timer.join()


@on_xorg_too
def test_settle_waits_for_a_client_without_pings_that_has_not_read_its_click(
    client: DesktopClient, open_probe: OpenProbe
) -> None:
    probe = open_probe()
    probe.tell(f"react {RED:02x}0000")
    with stopped(probe.process.pid, 0.4):
        client.send([Click("left", 500, 500)])
        found = client.settle(quiet_ms=50, max_ms=5000)
        assert client.frame().array[600, 600, 0] == RED, "it reacted before settle returned"
    assert found.settled and 350 <= found.waited_ms < 3000


def test_settle_waits_for_a_gtk_application(start_screen: StartScreen, require_backend: RequireBackend) -> None:
    """A key opens a menu and another closes it, with a window manager on the desktop."""
    needed = ["mousepad", "openbox"]
    require_backend("mousepad", all(map(shutil.which, needed)), f"{needed} are not installed")
    screen = start_screen(server=XVNC)
    screen.start(["openbox"])
    wait_until(lambda: "= _NET" in screen.run("xprop", "-root", "_NET_SUPPORTED"), deadline=soon(), awaited="openbox")
    client = screen.client()
    pid = screen.start(["mousepad", "--disable-server"]).pid
    wait_until(
        lambda: "window id # 0x" in screen.run("xprop", "-root", "_NET_ACTIVE_WINDOW"), deadline=soon(), awaited="it"
    )
    client.settle(300, 5000)
    ops: list[list[InputOp]] = [[PressKeys(("F10",))], [PressKeys(("Escape",))]]
    closed = client.frame().array.copy()
    for n in range(4):
        with stopped(pid, 0.4):
            client.send(ops[n % 2])
            found = client.settle(quiet_ms=150, max_ms=8000)
            shown = client.frame().array
        assert found.settled
        # A menu is far more than a caret that blinks.
        assert ((shown != closed).sum() > 10000) == (n % 2 == 0), f"round {n}"


def test_an_application_that_hangs_never_settles_and_frames_go_on(
    screen: Screen, client: DesktopClient, open_probe: OpenProbe
) -> None:
    """The bound passes, settle says so; meanwhile and afterwards others are served, and other windows settle."""
    hung, other = open_probe((0, 0, 400, 400)), open_probe((600, 0, 400, 400))
    other.tell(f"react {RED:02x}0000")
    second = screen.client()
    with stopped(hung.process.pid, 1.2):
        client.send([Click("left", 100, 100)])
        answers = []
        settling = threading.Thread(target=lambda: answers.append(client.settle(quiet_ms=50, max_ms=600)))
        settling.start()
        times = []
        while settling.is_alive():
            began = time.perf_counter()
            second.frame()
            times.append(time.perf_counter() - began)
        settling.join()
        assert not answers[0].settled and 595 <= answers[0].waited_ms < 1000
        assert len(times) > 20 and statistics.median(times) < 0.02
        client.send([Click("left", 700, 100)])
        assert client.settle(quiet_ms=50, max_ms=500).settled, "the last input went to another application"
        assert client.frame().array[200, 700, 0] == RED
    client.send([Click("left", 100, 100), TypeText("x")])
    assert client.settle(quiet_ms=50, max_ms=3000).settled


def test_settle_costs_nothing_more_when_all_has_been_taken(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    client.send([Click("left", 500, 500)])
    client.settle(quiet_ms=20, max_ms=2000)
    idle = [client.settle(quiet_ms=20, max_ms=2000).waited_ms for _ in range(20)]
    probe.tell(f"react {RED:02x}0000")
    after_click = []
    for _ in range(20):
        client.send([Click("left", 500, 500)])
        after_click.append(client.settle(quiet_ms=20, max_ms=2000).waited_ms)
    assert statistics.median(idle) < 30
    assert statistics.median(after_click) < 80
