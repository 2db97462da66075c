"""Text and keys, as real applications receive them."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator

import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, KeysDown, KeysUp, PressKeys, TypeText
from gym_anything.errors import ActionUnsupported
from gym_anything.runtime.desktop.client import DesktopClient
from tests.conftest import RequireBackend
from tests.integration.desktop.conftest import OpenProbe, StartScreen, on_xorg_too
from tests.integration.desktop.screen import XVFB, Screen, soon

pytestmark = pytest.mark.real

HOSTILE = '"; rm -rf / #\n-0.07\n--help\n$(id) `id` %s %% && || \\ \\\\ \'quoted\' <a href="x">&amp;</a>\n'
SCRIPTS = {
    "ascii": "".join(chr(c) for c in range(0x20, 0x7F)),
    "latin1": "".join(chr(c) for c in range(0xA1, 0x100) if c != 0xAD),
    "cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю. ЁЖЫЩ",
    "greek_hebrew": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία שפן אכל קצת גזר בטעם חסה",
    "emoji": "😀🎉👩‍💻🇩🇪🫠 ✓ ☃ € – “quotes”",
    "combining": "e\u0301 a\u0308 n\u0303 — å",
}


def cjk(count: int, seed: int) -> str:
    """Return different Chinese characters, more than there are spare keys."""
    return "".join(map(chr, random.Random(seed).sample(range(0x4E00, 0x4E00 + 3000), count)))


class Terminal:
    """An xterm in which ``cat`` writes what it is typed into a file, line by line."""

    def __init__(self, screen: Screen, client: DesktopClient) -> None:
        self.path = screen.folder / "typed.txt"
        self.path.touch()
        self.ready = screen.folder / "terminal-ready"
        script = f"stty -echo -icanon min 1 -iexten -isig -ixon; touch {self.ready}; exec cat >> {self.path}"
        self.process = screen.start(["xterm", "-u8", "-geometry", "80x24+0+0", "-e", "sh", "-c", script])
        wait_until(self.ready.exists, deadline=soon(), awaited="the terminal")
        client.send([Click("left", 200, 100)])

    def await_text(self, text: str) -> None:
        """Wait for exactly this text, and no more, since the last call."""
        wanted = text.encode()
        wait_until(
            lambda: len(self.path.read_bytes()) >= len(wanted), deadline=soon(), awaited="the text", status=self.text
        )
        assert self.text() == text
        os.truncate(self.path, 0)  # cat appends

    def text(self) -> str:
        return self.path.read_bytes().decode(errors="replace")


class Editor:
    """A GTK editor; Control+S brings what it holds to a file."""

    def __init__(self, screen: Screen, client: DesktopClient) -> None:
        self.client = client
        self.path = screen.folder / "edited.txt"
        self.path.write_text("")
        self.process = screen.start(["mousepad", "--disable-server", str(self.path)])
        wait_until(lambda: client.frame().array[200:500, 100:400].mean() > 200, deadline=soon(), awaited="the editor")
        client.settle(150, 5000)
        client.send([Click("left", 300, 300)])

    def await_text(self, text: str) -> None:
        """Save, compare, and empty the editor."""
        self.client.send([PressKeys(("Control_L", "s"))])
        wait_until(
            lambda: self.path.read_text() == text,
            deadline=soon(10),
            awaited="the text",
            status=lambda: repr(self.path.read_text()),
        )
        self.client.send([PressKeys(("Control_L", "a")), PressKeys(("BackSpace",))])


@pytest.fixture
def terminal(screen: Screen, client: DesktopClient, require_backend: RequireBackend) -> Terminal:
    require_backend("xterm", shutil.which("xterm") is not None, "xterm is not installed")
    return Terminal(screen, client)


@pytest.fixture
def editor(screen: Screen, client: DesktopClient, require_backend: RequireBackend) -> Iterator[Editor]:
    require_backend("mousepad", shutil.which("mousepad") is not None, "mousepad is not installed")
    screen.run("setxkbmap", "us")
    yield Editor(screen, client)


@on_xorg_too
def test_text_is_data_and_arrives_exactly_in_a_terminal(client: DesktopClient, terminal: Terminal) -> None:
    """T1, T2, T7: whatever the script, white space and newlines too."""
    for text in [HOSTILE, *SCRIPTS.values(), "  two  spaces\tand a tab\n\n\n", cjk(300, 1)]:
        ack = client.send([TypeText(text)])
        assert ack.chars_typed == len(text)
        # A terminal sends Return as carriage return; the line discipline makes it a newline again.
        terminal.await_text(text)


def test_text_is_data_and_arrives_exactly_in_a_gtk_editor(client: DesktopClient, editor: Editor) -> None:
    """T1, T2, T7."""
    for text in [HOSTILE, *SCRIPTS.values(), "  two  spaces\tand a tab\n\n", cjk(300, 2)]:
        client.send([TypeText(text)])
        editor.await_text(text)


@on_xorg_too
def test_two_thousand_characters_in_one_action(client: DesktopClient, terminal: Terminal) -> None:
    """T8: no truncation, and the acknowledgement says how many."""
    text = "".join(random.Random(5).choices(SCRIPTS["ascii"] + SCRIPTS["latin1"] + cjk(200, 3), k=2000))
    assert client.send([TypeText(text)]).chars_typed == 2000
    terminal.await_text(text)


@pytest.mark.parametrize("layout", ["de", "fr", "ru", "us,ru", "gr"])
def test_the_layout_does_not_change_what_a_text_types(
    screen: Screen, client: DesktopClient, terminal: Terminal, layout: str
) -> None:
    """T4: also after the layout changes between two texts."""
    for n, text in enumerate(["zZyY@{}[]|~^´`!?<>€ äöü 0123", SCRIPTS["cyrillic"], cjk(150, 4)]):
        if n < 2:
            screen.run("setxkbmap", layout)
        client.send([TypeText(text)])
        terminal.await_text(text)
        screen.run("setxkbmap", "us" if n else layout)


def test_held_modifiers_do_not_leak_into_text_and_stay_held(client: DesktopClient, terminal: Terminal) -> None:
    """T5: keys held across actions and locks are lifted for the text and put back."""
    client.send([KeysDown(("Control_L", "Shift_L"))])
    client.send([TypeText("abc ABC é 你\n")])
    terminal.await_text("abc ABC é 你\n")
    client.send([KeysUp(("Control_L",)), PressKeys(("a",))])
    terminal.await_text("A")
    client.send([KeysUp(("Shift_L",)), PressKeys(("a",))])
    terminal.await_text("a")
    client.send([PressKeys(("Caps_Lock",)), PressKeys(("a",)), TypeText("bBéÉ你"), PressKeys(("a",))])
    terminal.await_text("AbBéÉ你A")
    client.send([PressKeys(("Caps_Lock",)), PressKeys(("a",))])
    terminal.await_text("a")


def test_a_key_that_the_map_lacks_is_mapped_first(screen: Screen, client: DesktopClient, terminal: Terminal) -> None:
    """T3: Return, Tab and letters on a sparse map, as text and as keys."""
    screen.run("xmodmap", "-e", "keycode 36 =", "-e", "keycode 104 =", "-e", "keycode 23 =", "-e", "keycode 38 =")
    client.send([TypeText("aA\tb\n"), PressKeys(("Return",)), PressKeys(("Tab",)), PressKeys(("a",))])
    terminal.await_text("aA\tb\n\n\ta")


def test_a_modifier_that_the_map_lacks_is_refused(screen: Screen, client: DesktopClient) -> None:
    screen.run("xmodmap", "-e", "clear mod4", "-e", "keycode 133 =", "-e", "keycode 134 =", "-e", "keycode 206 =")
    with pytest.raises(ActionUnsupported):
        client.send([PressKeys(("Super_L", "a"))])


def test_chords_press_in_order_and_release_in_reverse(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    probe.tell("keyboard")
    client.send([PressKeys(("Control_L", "Shift_L", "t"))])
    probe.await_events(3, "key release")
    assert [event[1:3] for event in probe.of("key")] == [
        ["press", "37"],
        ["press", "50"],
        ["press", "28"],
        ["release", "28"],
        ["release", "50"],
        ["release", "37"],
    ]


def test_a_chord_adds_the_shift_that_its_key_needs(client: DesktopClient, open_probe: OpenProbe) -> None:
    probe = open_probe()
    probe.tell("keyboard")
    client.send([PressKeys(("Control_L", "plus"))])
    probe.await_events(3, "key release")
    assert [event[2] for event in probe.of("key press")] == ["37", "50", "21"]
    probe.forget()
    client.send([KeysDown(("Shift_L",)), PressKeys(("plus",)), KeysUp(("Shift_L",))])
    probe.await_events(2, "key release")
    assert [event[2] for event in probe.of("key press")] == ["50", "21"], "Shift is down already"


def test_the_keyboard_map_is_given_back_after_typing(screen: Screen, client: DesktopClient, terminal: Terminal) -> None:
    before = screen.keyboard_map()
    client.send([TypeText(cjk(150, 6))])
    assert screen.keyboard_map() != before
    client.release_held()
    assert screen.keyboard_map() == before
    client.send([TypeText(cjk(20, 7))])
    wait_until(lambda: screen.keyboard_map() == before, deadline=soon(10), awaited="the map, by itself", poll_s=0.3)


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_the_keyboard_map_is_given_back_after_the_end(start_screen: StartScreen, way: signal.Signals) -> None:
    """Also by the next service after one was killed; what somebody else changed since stays changed."""
    screen = start_screen(server=XVFB)
    before = screen.keyboard_map()
    client = screen.client()
    client.send([TypeText(cjk(90, 8))])
    os.kill(screen.service.pid, way)
    screen.service.wait(10)
    if way == signal.SIGKILL:
        assert screen.keyboard_map() != before
        screen.start_service()
        spare_keys = screen.client().info().spare_keys
        assert spare_keys == client.info().spare_keys
    assert screen.keyboard_map() == before


def test_a_map_changed_by_somebody_else_is_not_overwritten(start_screen: StartScreen) -> None:
    screen = start_screen(server=XVFB)
    client = screen.client()
    client.send([TypeText("你好")])
    screen.run("setxkbmap", "de")
    german = screen.keyboard_map()
    client.send([TypeText("ä")])
    client.release_held()
    assert screen.keyboard_map() == german


def test_text_waits_for_an_application_that_is_slow_to_read(
    screen: Screen, client: DesktopClient, terminal: Terminal
) -> None:
    """T2: a spare key gets no other meaning while the application may still misread it."""
    text = cjk(400, 9)
    os.kill(terminal.process.pid, signal.SIGSTOP)
    resume = _later(0.7, lambda: os.kill(terminal.process.pid, signal.SIGCONT))
    ack = client.send([TypeText(text)])
    resume()
    assert ack.chars_typed == len(text)
    terminal.await_text(text)


def test_no_key_overtakes_a_click_that_moves_the_focus(
    screen: Screen, client: DesktopClient, require_backend: RequireBackend
) -> None:
    """Between two terminals under a window manager that focuses by click: each text goes where the click before it went."""
    require_backend("openbox", shutil.which("openbox") is not None, "openbox is not installed")
    screen.start(["openbox"])
    wait_until(lambda: "= _NET" in screen.run("xprop", "-root", "_NET_SUPPORTED"), deadline=soon(), awaited="openbox")
    terminals = []
    for name, place in [("left", "+0+0"), ("right", "+640+0")]:
        path, script = screen.folder / name, f"stty -echo; exec cat >> {screen.folder / name}"
        path.touch()
        screen.start(["xterm", "-geometry", f"70x20{place}", "-e", "sh", "-c", script])
        terminals.append(path)
    wait_until(
        lambda: screen.run("xprop", "-root", "_NET_CLIENT_LIST").count("0x") == 2, deadline=soon(), awaited="both"
    )
    client.settle(300, 5000)
    wanted = ["", ""]
    for n in range(40):
        side = n * 7 % 3 % 2
        client.send([Click("left", 200 + side * 640, 200), TypeText(f"text {n}\n")])
        wanted[side] += f"text {n}\n"
    for path, text in zip(terminals, wanted, strict=True):
        wait_until(lambda p=path, t=text: p.read_text() == t, deadline=soon(5), awaited=text, status=path.read_text)


def test_keys_that_a_window_manager_grabs_are_never_lent(
    client: DesktopClient, open_probe: OpenProbe, terminal: Terminal
) -> None:
    """They would swallow what is typed with them."""
    manager = open_probe((1200, 700, 10, 10))
    grabbed = [93, 97, 121, 122, 123, 152, 160, 200]
    for code in grabbed:
        manager.tell(f"grab {code}")
    text = cjk(300, 10)
    client.send([TypeText(text)])
    terminal.await_text(text)
    assert manager.of("key") == []


def _later(seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Do something from another thread after a while; the result waits for it."""
    import threading

    timer = threading.Timer(seconds, action)
    timer.start()
    return timer.join
