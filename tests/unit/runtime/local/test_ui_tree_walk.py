"""The tree's walker: D-Bus values, and how an element is printed."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gym_anything.runtime.session import ui_tree_walk
from gym_anything.runtime.session.ui_tree_walk import Body, line_of, packed, whole_type

pytestmark = pytest.mark.unit


def test_values_are_read_with_their_alignment() -> None:
    data = b"\x07\0\0\0" + struct.pack("<i", -5) + struct.pack("<I", 2) + b"ab\0" + b"\0" + struct.pack("<q", 9)
    assert Body(data).values("yisx") == [7, -5, "ab", 9]


def test_containers_are_read() -> None:
    pair = struct.pack("<I", 3) + b":1.\0" + struct.pack("<I", 1) + b"/\0"
    data = struct.pack("<II", len(pair), 0) + pair
    assert Body(data).values("a(so)") == [[(":1.", "/")]]
    assert Body(struct.pack("<I", 8) + struct.pack("<II", 1, 2)).values("au") == [[1, 2]]
    assert Body(b"\x01s\0\0" + struct.pack("<I", 2) + b"hi\0").values("v") == ["hi"]


@pytest.mark.parametrize(
    ("signature", "first"), [("a(so)u", "a(so)"), ("(i(ii))s", "(i(ii))"), ("aas", "aas"), ("a{sv}i", "a{sv}")]
)
def test_the_first_whole_type_is_found(signature: str, first: str) -> None:
    assert whole_type(signature) == first


def test_arguments_are_packed_with_padding() -> None:
    signature, body = packed(["abcd", ("i", -1)])
    assert signature == "si"
    assert body == b"\x04\0\0\0abcd\0\0\0\0" + struct.pack("<i", -1)


def test_an_element_is_printed_with_what_matters() -> None:
    states = [[1 << 8 | 1 << 11 | 1 << 12, 0]]
    line = line_of("push button", " Press\nme ", states, [(1, 2, 30, 40)], "")
    assert line == 'push button "Press\\nme" at (1,2) size 30x40 [focused]'


def test_a_widget_that_cannot_be_used_says_so() -> None:
    assert line_of("entry", "", [[1 << 11, 0]], None, "text").endswith('[disabled] text "text"')


def test_the_desktop_gets_no_size_that_nobody_measured() -> None:
    assert line_of("desktop frame", "main", None, [(0, 0, 1024, 768)], "") == 'desktop frame "main"'


def test_an_element_that_is_nowhere_has_no_place() -> None:
    assert line_of("menu item", "Open", None, [(-(1 << 31), -(1 << 31), 1, 1)], "") == 'menu item "Open"'


class Bus:
    """Answers the first question by an address, where it has one, and no other."""

    address: list[str] | None = None

    def __init__(self, address: str, until: float) -> None:
        self._answers: list[Any] = [self.address] if address == "unix:path=/session" else []

    def call(self, calls: list[Any]) -> list[Any]:
        return [self._answers.pop() if self._answers else None for _ in calls]


@pytest.mark.parametrize(
    ("address", "start_s", "code", "said"),
    [
        (None, 20.0, 3, "is not there (package at-spi2-core)"),
        (None, 0.0, 3, "did not start within 0 s"),
        (["unix:path=/a11y"], 0.3, 4, "registry did not answer within 0.3 s"),
    ],
)
def test_a_tree_that_cannot_be_had_is_none(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: list[str] | None,
    start_s: float,
    code: int,
    said: str,
) -> None:
    """What only takes its time is told from what is not there; nobody gets a tree of one line without an answer."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/session")
    monkeypatch.setattr(Bus, "address", address)
    monkeypatch.setattr(ui_tree_walk, "Bus", Bus)
    monkeypatch.setattr(ui_tree_walk, "START_S", start_s)
    assert ui_tree_walk.main() == code
    found = capsys.readouterr()
    assert (found.out, said in found.err) == ("", True), found.err
