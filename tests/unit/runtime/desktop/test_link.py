"""One connection: whatever the other side answers becomes an answer or a typed error, and no descriptor is left open."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import (
    Aborted,
    ActionError,
    BadWire,
    DeadlineExceeded,
    GymAnythingError,
    Unauthorized,
    UnknownRemoteError,
    WorldLost,
)
from gym_anything.runtime.desktop.link import Link, close_all
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS, MESSAGES

pytestmark = pytest.mark.unit

POINTER = FIELDS["POINTER"].pack(11, 22)


@dataclass
class Pair:
    """Our link and the service's end of it."""

    link: Link
    service: socket.socket

    def answer(self, name: str | int, body: bytes, *, request: int = 1, size: int | None = None) -> None:
        code = MESSAGES[name] if isinstance(name, str) else name
        self.service.sendall(FIELDS["HEADER"].pack(len(body) if size is None else size, code, 0, request) + body)

    def ask(self, seconds: float = 5.0) -> tuple[int, ...]:
        return self.link.request("POINTER_REQUEST", b"", "POINTER", Deadline.after(seconds)).fields


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    yield Pair(Link(ours, "INPUT"), theirs)
    ours.close()
    theirs.close()


def test_a_request_has_the_form_of_the_protocol_and_its_answer_is_read(pair: Pair) -> None:
    pair.answer("POINTER", POINTER)
    assert pair.ask() == (11, 22)
    assert pair.service.recv(100) == FIELDS["HEADER"].pack(0, MESSAGES["POINTER_REQUEST"], 0, 1)


def test_an_answer_in_pieces_and_two_at_once_are_read(pair: Pair) -> None:
    whole = FIELDS["HEADER"].pack(8, MESSAGES["POINTER"], 0, 1) + POINTER
    second = FIELDS["HEADER"].pack(8, MESSAGES["POINTER"], 0, 2) + FIELDS["POINTER"].pack(3, 4)
    pieces = threading.Thread(target=lambda: [pair.service.send(bytes([byte])) for byte in whole])
    pieces.start()
    assert pair.ask() == (11, 22)
    pieces.join()
    pair.service.sendall(second + b"rest of another")
    assert pair.ask() == (3, 4)


@pytest.mark.parametrize(
    ("name", "body", "changes"),
    [
        ("POINTER", POINTER, {"request": 7}),
        ("SETTLED", FIELDS["SETTLED"].pack(1, 2), {}),
        (999, b"", {}),
        ("POINTER", POINTER, {"size": CONSTANTS["MAX_BODY"] + 1}),
        ("POINTER", b"abc", {}),
    ],
)
def test_a_wrong_answer_is_bad_wire(pair: Pair, name: str | int, body: bytes, changes: dict[str, int]) -> None:
    pair.answer(name, body, **changes)
    with pytest.raises(BadWire):
        pair.ask()


@pytest.mark.parametrize(
    ("code", "kind"), [(5, WorldLost), (7, ActionError), (3, Unauthorized), (99, UnknownRemoteError)]
)
def test_what_the_service_says_failed_is_raised_as_what_it_is(
    pair: Pair, code: int, kind: type[GymAnythingError]
) -> None:
    pair.answer("FAILED", FIELDS["FAILED"].pack(code, 42) + "off the screen é".encode())
    with pytest.raises(kind, match="off the screen é") as caught:
        pair.ask()
    assert caught.value.detail["chars_typed"] == 42


def test_the_last_words_of_a_service_that_hung_up_are_heard(pair: Pair) -> None:
    pair.answer("FAILED", FIELDS["FAILED"].pack(5, 0) + b"the X server is gone", request=0)
    pair.service.close()
    with pytest.raises(WorldLost, match="the X server is gone"):
        pair.ask()


def test_an_end_without_words_is_a_lost_world(pair: Pair) -> None:
    pair.service.close()
    with pytest.raises(WorldLost):
        pair.ask()


def test_a_deadline_is_kept(pair: Pair) -> None:
    with pytest.raises(DeadlineExceeded, match="input connection"):
        pair.ask(0.02)
    with pytest.raises(DeadlineExceeded):
        pair.ask(0)


def test_a_cut_ends_a_blocked_request_as_aborted(pair: Pair) -> None:
    cutting = threading.Timer(0.05, pair.link.cut)
    cutting.start()
    with pytest.raises(Aborted):
        pair.ask()
    cutting.join()
    with pytest.raises(Aborted):
        pair.ask()


@pytest.mark.parametrize("good", [True, False])
def test_descriptors_that_came_along_are_handed_out_or_closed(pair: Pair, good: bool) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    reader, writer = os.pipe()
    body = FIELDS["HEADER"].pack(8, MESSAGES["POINTER"], 0, 1 if good else 5) + POINTER
    socket.send_fds(pair.service, [body], [reader, writer])
    os.close(reader)
    os.close(writer)
    if good:
        answer = pair.link.request("POINTER_REQUEST", b"", "POINTER", Deadline.after(5))
        assert len(answer.fds) == 2
        close_all(answer.fds)
    else:
        with pytest.raises(BadWire):
            pair.ask()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_service_that_does_not_know_the_token_is_refused(pair: Pair) -> None:
    challenge = FIELDS["CHALLENGE"].pack(CONSTANTS["VERSION"], b"n" * 32, b"not the proof".ljust(32))
    pair.answer("CHALLENGE", challenge)
    with pytest.raises(Unauthorized, match="does not know our token"):
        pair.link.open(b"a token of some length", Deadline.after(5))
    sent = pair.service.recv(1000)
    assert b"a token" not in sent, "the token never travels"
    assert struct.unpack_from("<III", sent, FIELDS["HEADER"].size) == (CONSTANTS["MAGIC"], CONSTANTS["VERSION"], 2)
