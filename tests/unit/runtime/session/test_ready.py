"""When a desktop counts as usable, whatever order its window manager does things in."""

from __future__ import annotations

import socket
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from gym_anything.runtime.session.ready import await_clients, shows_something
from gym_anything.runtime.session.x_wire import XWire, changed_property

pytestmark = pytest.mark.unit

LIST, OTHER, PROBE, PANEL = 300, 301, 11, 12


def changed(atom: int) -> bytes:
    """Return a PropertyNotify event."""
    return struct.pack("<BxHIIIB15x", 28, 0, 1, atom, 0, 0)


class Wire:
    """The X server as a list of what the manager's list of windows is, one for each look, with an event in between."""

    root = 1

    def __init__(self, looks: list[tuple[int, ...]], events: list[bytes]) -> None:
        self.looks, self.events = looks, events

    def atom(self, name: str) -> int:
        assert name == "_NET_CLIENT_LIST"
        return LIST

    def property_words(self, window: int, atom: int) -> tuple[int, ...]:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def next_event(self, until: float) -> bytes | None:
        return self.events.pop(0) if self.events else None


@pytest.mark.parametrize(
    ("looks", "events", "panel"),
    [
        ([(PROBE,), ()], [changed(LIST)], False),
        ([()], [changed(OTHER), changed(LIST)], False),  # in and out again before the first look
        ([(PROBE,), (PROBE, PANEL), (PANEL,)], [changed(LIST)] * 2, True),
        ([(), (), (PANEL,)], [changed(LIST)] * 2, True),
    ],
)
def test_a_desktop_is_usable_once_the_probe_has_gone_and_the_panel_is_there(
    looks: list[tuple[int, ...]], events: list[bytes], panel: bool
) -> None:
    wire = Wire(looks, list(events))
    await_clients(wire, PROBE, 0.0, panel=panel)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("looks", "events", "panel", "words"),
    [
        ([(PROBE,)], [], False, "probe window did not go away"),
        ([()], [changed(LIST)], True, "panel did not appear"),
        ([()], [changed(OTHER)], False, "panel did not appear"),
    ],
)
def test_what_does_not_come_is_named(
    looks: list[tuple[int, ...]], events: list[bytes], panel: bool, words: str
) -> None:
    with pytest.raises(OSError, match=words):
        await_clients(Wire(looks, list(events)), PROBE, 0.0, panel=panel)  # type: ignore[arg-type]


def test_only_a_change_of_a_property_names_one() -> None:
    assert changed_property(changed(LIST)) == LIST
    assert changed_property(struct.pack("<BxHIIIB15x", 19, 0, 1, LIST, 0, 0)) == 0


def test_a_plain_screen_is_a_desktop_only_where_it_was_asked_for() -> None:
    screen = np.full((64, 64, 3), (0x20, 0x40, 0x60), np.uint8)
    asked = {"gradient": [0x204060], "panel": []}
    assert shows_something(screen, asked)  # type: ignore[arg-type]
    assert not shows_something(screen, {"gradient": [0x000000], "panel": []})  # type: ignore[arg-type]
    assert not shows_something(screen, {"gradient": [1, 2], "panel": []})  # type: ignore[arg-type]
    screen[16:32, 16:32] = 255
    assert shows_something(screen, {"gradient": [1, 2], "panel": ["tint2"]})  # type: ignore[arg-type]


def test_a_wait_for_the_x_server_ends_when_the_one_who_waits_is_told_to(tmp_path: Path) -> None:
    """A server that takes connections and then says nothing more."""

    class Told(Exception):
        pass

    def check() -> None:
        raise Told

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "X1"))
        listener.listen()
        answer = struct.pack("<BxHHH", 1, 11, 0, 9) + bytes(36)

        def serve() -> None:
            accepted.append(listener.accept()[0])
            accepted[0].sendall(answer)

        accepted: list[socket.socket] = []
        server = threading.Thread(target=serve)
        server.start()
        wire = XWire(str(tmp_path / "X1"), check=check)
        server.join()
        began = time.monotonic()
        with pytest.raises(Told):
            wire.next_event(began + 60)
        assert time.monotonic() - began < 5
        wire.close()
        accepted[0].close()
