"""Drags and text in real applications that read the keyboard and the pointer in their own ways."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Drag, PressKeys, TypeText
from gym_anything.runtime.desktop.client import DesktopClient
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.screen import XVNC, Screen, soon
from tests.integration.desktop.test_typing import HOSTILE, SCRIPTS, Editor, cjk
from tests.integration.desktop.typing_matrix.browser import ChromiumTarget
from tests.integration.desktop.typing_matrix.office import OfficeTarget
from tests.integration.desktop.typing_matrix.target import Target, start_window_manager
from tests.integration.desktop.typing_matrix.toolkits import QtListTarget, QtTarget

pytestmark = pytest.mark.real

T = TypeVar("T", bound=Target)


@pytest.fixture
def screen(start_screen: StartScreen, require_backend: RequireBackend) -> Screen:
    require_backend("openbox", shutil.which("openbox") is not None, "openbox is not installed")
    screen = start_screen(server=XVNC)
    start_window_manager(screen)
    return screen


@contextlib.contextmanager
def begun(kind: type[T], screen: Screen, client: DesktopClient, require_backend: RequireBackend) -> Iterator[T]:
    """Start an application of the typing matrix on a screen; what the screen does not end ends with the block."""
    missing = kind.missing()
    require_backend(f"typing-{kind.name}", not missing, missing)
    target = kind(screen, client)
    try:
        target.begin()
        yield target
    finally:
        target.stop()


def test_keys_of_commands_and_any_text_arrive_in_chromium(
    screen: Screen, client: DesktopClient, require_backend: RequireBackend
) -> None:
    """T1, T2: it acts on some hardware keys by itself and reads the keyboard map through a second connection."""
    with begun(ChromiumTarget, screen, client, require_backend) as page:
        client.send([TypeText("copy me"), PressKeys(("Control_L", "a")), PressKeys(("Control_L", "c"))])
        assert page.take() == "copy me"
        for n in range(4):
            for text in [HOSTILE, *SCRIPTS.values(), cjk(200, n)]:
                client.send([TypeText(text)])
                assert page.take(text) == text


def test_no_key_overtakes_another_in_libreoffice(
    screen: Screen, client: DesktopClient, require_backend: RequireBackend
) -> None:
    """T2: commands are done later than characters are read, and a key pressed twice at once counts as held down."""
    with begun(OfficeTarget, screen, client, require_backend) as office:
        for text in ["aabbccddee\nffgg\n\n11\t22", "a😀b😀\n😀\ncc"] * 3:
            client.send([TypeText(text)])
            assert office.take(text) == text
            client.send([TypeText("to be replaced"), PressKeys(("Control_L", "a")), TypeText(text)])
            assert office.take(text) == text


def test_a_drag_moves_a_file_into_a_folder(
    screen: Screen, client: DesktopClient, require_backend: RequireBackend
) -> None:
    """P4: drag and drop between icons of a file manager."""
    needed = ["pcmanfm", "dbus-run-session"]
    require_backend("pcmanfm", all(map(shutil.which, needed)), f"{needed} are not installed")
    files = screen.folder / "files"
    (files / "a_folder").mkdir(parents=True)
    (files / "b_letter.txt").write_text("a letter")
    home = f"HOME={screen.folder}"
    screen.start(["env", home, "dbus-run-session", "pcmanfm", "--no-desktop", str(files)])
    wait_until(lambda: "files" in _titles(screen), deadline=soon(), awaited="the file manager", poll_s=0.2)
    client.settle(400, 8000)
    client.send([Drag("left", *_icons(client))])
    wait_until((files / "a_folder" / "b_letter.txt").exists, deadline=soon(10), awaited="the move")
    assert not (files / "b_letter.txt").exists()


def test_a_drag_selects_text(start_screen: StartScreen, require_backend: RequireBackend) -> None:
    """P4: what is typed next replaces what the drag selected."""
    require_backend("mousepad", shutil.which("mousepad") is not None, "mousepad is not installed")
    screen = start_screen(server=XVNC)
    client = screen.client()
    editor = Editor(screen, client)
    client.send([TypeText("first line\nsecond line\nthird line")])
    client.settle(200, 5000)
    client.send([_drag_over_two_lines(client, 32), TypeText(" ends")])
    editor.await_text("first line ends")


def test_a_drag_selects_text_in_qt(screen: Screen, client: DesktopClient, require_backend: RequireBackend) -> None:
    """P4."""
    with begun(QtTarget, screen, client, require_backend) as field:
        client.send([TypeText("first line\nsecond line\nthird line")])
        client.settle(200, 5000)
        client.send([_drag_over_two_lines(client, 26), TypeText(" ends")])
        assert field.take() == "first line ends"


def test_a_drag_moves_an_item_of_a_qt_list(
    screen: Screen, client: DesktopClient, require_backend: RequireBackend
) -> None:
    """P4: the item comes to lie where it was dropped."""
    with begun(QtListTarget, screen, client, require_backend) as items:
        client.send([PressKeys(("F9",))])
        places = items.given.get(timeout=20)
        half = (places[1][1] - places[0][1]) // 2
        client.send([Drag("left", tuple(places[3]), (places[1][0], places[1][1] - half + 2))])
        assert items.given.get(timeout=20) == ["first", "fourth", "second", "third"]


def test_drags_select_and_move_text_in_libreoffice(
    screen: Screen, client: DesktopClient, require_backend: RequireBackend
) -> None:
    """P4: a word is selected by a drag and typed over; another is selected and dragged behind the last."""
    with begun(OfficeTarget, screen, client, require_backend) as office:
        office.ask("words ff0000=alpha 00a000=beta 0000ff=gamma")
        client.settle(300, 5000)
        left, right, y = _word(client, 0)
        client.send([Drag("left", (left - 1, y), (right + 2, y)), TypeText("delta")])
        wait_until(lambda: office.ask("text") == "delta beta gamma", deadline=soon(), awaited="the word typed over")
        client.settle(300, 5000)
        left, right, y = _word(client, 1)
        _, end, _ = _word(client, 2)
        client.send([Drag("left", (left - 1, y), (right + 2, y))])
        client.settle(300, 5000)
        client.send([Drag("left", ((left + right) // 2, y), (end + 3, y))])
        wait_until(
            lambda: office.ask("text") == "delta gamma beta",  # it minds the spaces
            deadline=soon(10),
            awaited="the word moved",
            status=lambda: office.ask("text"),
        )


def _drag_over_two_lines(client: DesktopClient, top: int) -> Drag:
    """Return a drag from behind the first of three lines of text to behind the third; no text is above ``top``."""
    ink = np.argwhere((client.frame().array[top:300, 4:600] < 110).all(axis=2))
    first, last = int(ink[:, 0].min()) + top, int(ink[:, 0].max()) + top
    line = (last - first) // 3
    return Drag("left", (600, first + line // 2), (600, last - line // 2))


def _word(client: DesktopClient, channel: int) -> tuple[int, int, int]:
    """Return the left and right edge and the middle of the word on the page that is red (0), green (1) or blue (2)."""
    array = client.frame().array.astype(int)
    array[:150], array[500:], array[:, :220], array[:, 1000:] = 0, 0, 0, 0  # icons have colours too
    others = [n for n in range(3) if n != channel]
    ink = np.argwhere((array[:, :, channel] > 120) & (array[:, :, others].max(axis=2) < 60))
    return int(ink[:, 1].min()), int(ink[:, 1].max()), int(np.median(ink[:, 0]))


def _titles(screen: Screen) -> str:
    windows = screen.run("xprop", "-root", "_NET_CLIENT_LIST").partition("#")[2].replace(",", "").split()
    return " ".join(screen.run("xprop", "-id", window, "_NET_WM_NAME") for window in windows)


def _icons(client: DesktopClient) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the letter and the folder are: the folder's icon is blue, the letter's is grey and right of it."""
    array = client.frame().array.astype(int)
    white = (array > 250).all(axis=2)
    left = int(np.argmax(white.sum(axis=0) > 250))
    pane = array[:, left:]
    blue = np.argwhere((pane[:, :, 2] > 190) & (pane[:, :, 0] < 160) & (np.arange(len(pane)) > 235)[:, None])
    y, x = np.median(blue, axis=0).astype(int)
    row = pane[y - 20 : y + 20, x + 40 : x + 160]
    grey = np.argwhere((abs(row - row.mean(axis=2, keepdims=True)) < 12).all(axis=2) & (row.mean(axis=2) < 240))
    return (int(left + x + 40 + np.median(grey[:, 1])), int(y)), (int(left + x), int(y))
