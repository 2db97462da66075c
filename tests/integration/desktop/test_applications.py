"""Drags and text in real applications that read the keyboard and the pointer in their own ways."""

from __future__ import annotations

import http.server
import queue
import shutil
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, Drag, PressKeys, TypeText
from gym_anything.runtime.desktop.client import DesktopClient
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.screen import XVNC, Screen, soon
from tests.integration.desktop.test_typing import HOSTILE, SCRIPTS, Editor, cjk

pytestmark = pytest.mark.real

# F9 sends what the field holds and empties it; the title says how much that is.
PAGE = """<!doctype html><title>loading</title><textarea id=t style="width:95vw;height:85vh" autofocus></textarea><script>
setInterval(() => document.title = "holds " + [...t.value].length, 50)
addEventListener("keydown", e => { if (e.key == "F9") { navigator.sendBeacon("/", t.value); t.value = "" } })
</script>"""


@pytest.fixture
def screen(start_screen: StartScreen, require_backend: RequireBackend) -> Screen:
    require_backend("openbox", shutil.which("openbox") is not None, "openbox is not installed")
    screen = start_screen(server=XVNC)
    screen.start(["openbox"])
    wait_until(lambda: "= _NET" in screen.run("xprop", "-root", "_NET_SUPPORTED"), deadline=soon(), awaited="openbox")
    return screen


@pytest.fixture
def texts() -> Iterator[tuple[str, queue.SimpleQueue[str]]]:
    """Serve the page on loopback; what it sends is in the queue."""
    received: queue.SimpleQueue[str] = queue.SimpleQueue()

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(PAGE.encode())

        def do_POST(self) -> None:
            received.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/", received
        server.shutdown()
        serving.join()


def test_any_text_arrives_exactly_in_chromium(
    screen: Screen,
    client: DesktopClient,
    texts: tuple[str, queue.SimpleQueue[str]],
    require_backend: RequireBackend,
) -> None:
    """T1, T2: it acts on some hardware keys by itself and reads the keyboard map through a second connection."""
    require_backend("chromium", shutil.which("chromium") is not None, "chromium is not installed")
    address, received = texts
    profile = f"--user-data-dir={screen.folder / 'profile'}"
    screen.start(["chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", profile, "--app=" + address])
    wait_until(lambda: "holds 0" in _titles(screen), deadline=soon(60), awaited="the page", poll_s=0.3)
    client.settle(300, 5000)
    client.send([Click("left", 400, 300), TypeText("copy me"), PressKeys(("Control_L", "a"))])
    client.send([PressKeys(("Control_L", "c")), PressKeys(("F9",))])
    assert received.get(timeout=20) == "copy me"
    for n in range(4):
        for text in [HOSTILE, *SCRIPTS.values(), cjk(200, n)]:
            client.send([TypeText(text), PressKeys(("F9",))])
            assert received.get(timeout=20) == text


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
    ink = np.argwhere((client.frame().array[32:300, 4:600] < 110).all(axis=2))
    top, bottom = ink[:, 0].min() + 32, ink[:, 0].max() + 32
    line = (bottom - top) // 3
    client.send([Drag("left", (600, int(top + line // 2)), (600, int(bottom - line // 2))), TypeText(" ends")])
    editor.await_text("first line ends")


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
