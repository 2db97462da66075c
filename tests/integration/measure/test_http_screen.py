"""The screen behind HTTP that ours is compared with: it shows what is there, clicks, and answers nobody else."""

from __future__ import annotations

import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import HostError
from gym_anything.measure.desktop_rig import SIZE, Rig
from gym_anything.measure.desktop_ways import pixel_of
from gym_anything.measure.http_screen import HttpScreen
from tests.conftest import RequireBackend

pytestmark = pytest.mark.real


@pytest.fixture
def rig(require_backend: RequireBackend) -> Iterator[Rig]:
    require_backend("xvfb", shutil.which("Xvfb") is not None, "Xvfb is not installed")
    Supervisor.shared()
    with Rig("Xvfb", start_service=False) as rig:
        rig.open_window()
        yield rig


def test_it_shows_and_clicks_and_wants_its_token(
    rig: Rig, require_backend: RequireBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L12: whatever the proxy variables say. N1."""
    require_backend("pyautogui", find_spec("pyautogui") is not None, "pyautogui is not installed")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with HttpScreen(rig) as screen:
        colour = rig.paint(5)
        picture = screen.picture()
        assert picture.size == SIZE and pixel_of(picture, 0, 0) == colour
        screen.click(321, 123)
        assert rig.painter.next_press() == (1, 321, 123)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(screen._url + "/screenshot", timeout=5)
    assert not [process for process in Supervisor.shared().running if process.pid == screen.pid]


def test_one_that_ends_at_once_says_why(rig: Rig, monkeypatch: pytest.MonkeyPatch, no_leaks: Any) -> None:
    monkeypatch.setattr("gym_anything.measure.http_screen._PROGRAM", "gym_anything.no_such_program")
    with pytest.raises(HostError, match="no_such_program"):
        HttpScreen(rig)
