"""Under a compositor what is seen is painted by another program; frames are what it has painted, whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click
from gym_anything.runtime.desktop.client import DesktopClient
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import OpenProbe
from tests.integration.desktop.screen import XORG, XVFB, XVNC, Screen, soon

pytestmark = pytest.mark.real

COMPOSITORS = {
    "xcompmgr": ["xcompmgr", "-n"],
    "picom": ["picom", "--backend", "xrender", "--config", "/dev/null", "--no-fading-openclose"],
}
Composite = Callable[[str], None]


@pytest.fixture(params=[(XVFB, "xcompmgr"), (XVFB, "picom"), (XVNC, "xcompmgr"), (XORG, "picom")], ids="-".join)
def composited(request: pytest.FixtureRequest, require_backend: RequireBackend) -> str:
    """The compositor of this run; its X server is ``server``."""
    _, compositor = request.param
    require_backend(compositor, shutil.which(compositor) is not None, f"{compositor} is not installed")
    return compositor


@pytest.fixture
def server(request: pytest.FixtureRequest, composited: str) -> str:
    return str(request.node.callspec.params["composited"][0])


@pytest.fixture
def composite(screen: Screen, client: DesktopClient, open_probe: OpenProbe, composited: str) -> None:
    """Start the compositor and wait until it paints: a translucent window lets another one through."""
    below, above = open_probe((0, 0, 40, 40)), open_probe((0, 0, 40, 40))
    above.tell("opacity 50")
    screen.start(COMPOSITORS[composited])

    def mixed() -> bool:
        below.tell("fill ff0000 0 0 40 40")
        above.tell("fill 0000ff 0 0 40 40")
        return 100 < client.frame().array[20, 20, 0] < 160

    wait_until(
        mixed,
        deadline=soon(8),
        awaited="translucence",
        status=lambda: f"{client.frame().array[20, 20]} {screen.log(composited)[-300:]}",
    )


def test_frames_are_what_is_painted_after_random_window_operations(
    screen: Screen, client: DesktopClient, open_probe: OpenProbe, composite: None
) -> None:
    """S4: translucent windows over and under others, moved, drawn in and raised: equal to an independent grab."""
    chance = random.Random(5)
    probes = [open_probe((60 + 90 * n, 50 + 60 * n, 400, 300)) for n in range(4)]
    for percent, probe in zip([100, 60, 35, 80], probes, strict=True):
        probe.tell(f"opacity {percent}")
    for n in range(30):
        probe = chance.choice(probes)
        box = f"{chance.randrange(800)} {chance.randrange(450)} {chance.randrange(1, 400)} {chance.randrange(1, 300)}"
        colour = f"{chance.randrange(1 << 24):06x}"
        probe.tell(
            chance.choice([f"fill {colour} {box}", f"move {box}", "raise", f"opacity {chance.randrange(20, 99)}"])
        )
        assert client.settle(quiet_ms=40, max_ms=5000, learn=False).settled
        np.testing.assert_array_equal(client.frame().array, screen.grab(), err_msg=f"operation {n}")


def test_each_click_on_a_translucent_window_lands_and_shows(
    client: DesktopClient, open_probe: OpenProbe, composite: None
) -> None:
    """To a reader who only follows: no damage of what the compositor paints is missed."""
    open_probe().tell("fill 000000 0 0 1280 800")
    probe = open_probe((300, 200, 400, 300))
    probe.tell("opacity 50")
    for n in range(1, 21):
        probe.tell(f"react {n * 12:02x}0000")
        client.send([Click("left", 500, 350)])
        wait_until(
            lambda half=n * 6: abs(int(client.newest().array[300, 400, 0]) - half) <= 2,
            deadline=soon(5),
            awaited=f"half of {n * 12}",
            status=lambda: str(client.newest().array[300, 400]),
        )
    assert len(probe.await_events(20, "button press")) == 20
