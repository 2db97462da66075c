"""One connection to a gate, and the address that it goes to."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, BadWire, DeadlineExceeded, SessionLost, Unauthorized, Unreachable
from gym_anything.runtime.desktop.far_address import FarAddress, Tls
from gym_anything.runtime.desktop.far_link import FarLink, Session
from gym_anything.runtime.desktop.far_wire import CONSTANTS, MESSAGES, OWN_FIELDS
from gym_anything.runtime.desktop.wire import FIELDS

pytestmark = pytest.mark.unit

TOKEN = b"a token of some length"
ADDRESS = FarAddress("127.0.0.1", 9, TOKEN, None)


@dataclass
class Pair:
    """Our link and the gate's end of it."""

    link: FarLink
    gate: socket.socket

    def answer(self, name: str, body: bytes, *, request: int = 1) -> None:
        self.gate.sendall(FIELDS["HEADER"].pack(len(body), MESSAGES[name], 0, request) + body)

    def ask(self, seconds: float = 5.0) -> tuple[int, ...]:
        return self.link.request("POINTER_REQUEST", b"", "POINTER", Deadline.after(seconds)).fields


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    link = FarLink(ADDRESS, None, "INPUT", Session(b"s" * 16, picture=3, acknowledged=7))
    link._socket.close()
    link._use(ours)
    yield Pair(link, theirs)
    link.close()
    theirs.close()


def test_a_cut_is_not_the_end_of_the_world(pair: Pair) -> None:
    pair.gate.close()
    with pytest.raises(Unreachable, match="was cut"):
        pair.ask()


def test_a_deadline_is_told_from_a_line_that_the_kernel_gave_up(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeadlineExceeded):
        pair.ask(0.02)

    class Dead:
        """A socket whose other side has not been heard for too long."""

        def settimeout(self, seconds: float) -> None:
            pass

        def send(self, data: bytes) -> int:
            return len(data)

        def recv_into(self, space: memoryview) -> int:
            raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    monkeypatch.setattr(pair.link, "_socket", Dead())
    with pytest.raises(Unreachable):
        pair.ask()
    monkeypatch.undo()


def test_a_cut_by_another_thread_is_an_abort(pair: Pair) -> None:
    pair.link.cut()
    with pytest.raises(Aborted):
        pair.ask()


def test_what_the_gate_says_failed_is_raised_as_what_it_is(pair: Pair) -> None:
    pair.answer("FAILED", OWN_FIELDS["FAILED"].pack(32, 0) + b"it is over")
    with pytest.raises(SessionLost, match="the gate says: it is over"):
        pair.ask()


def test_the_session_is_named_and_the_token_does_not_travel(pair: Pair) -> None:
    pair.answer("CHALLENGE", OWN_FIELDS["CHALLENGE"].pack(CONSTANTS["VERSION"], b"n" * 32, b"no proof".ljust(32)))
    with pytest.raises(Unauthorized, match="does not know our token"):
        pair.link.open(TOKEN, Deadline.after(5))
    sent = pair.gate.recv(1000)
    assert TOKEN not in sent
    magic, version, role, _, session, picture, acknowledged = OWN_FIELDS["HELLO"].unpack(sent[FIELDS["HEADER"].size :])
    assert (magic, version, role) == (CONSTANTS["MAGIC"], CONSTANTS["VERSION"], CONSTANTS["ROLE_INPUT"])
    assert (session, picture, acknowledged) == (b"s" * 16, 3, 7)


def test_an_input_connection_takes_no_long_messages(pair: Pair) -> None:
    pair.gate.sendall(FIELDS["HEADER"].pack(70_000, MESSAGES["POINTER"], 0, 1))
    with pytest.raises(BadWire):
        pair.ask()


def test_an_address_shows_no_token_and_a_fingerprint_has_one_form() -> None:
    assert "token" not in repr(ADDRESS) and str(FarAddress("::1", 9, TOKEN, None)) == "[::1]:9"
    digits = "0123456789abcdef" * 4
    colons = ":".join(digits[n : n + 2] for n in range(0, 64, 2)).upper()
    assert Tls(fingerprint=colons) == Tls(fingerprint=digits)


@pytest.mark.parametrize(
    ("host", "port", "token"),
    [("", 9, TOKEN), ("h", 0, TOKEN), ("h", 65536, TOKEN), ("h", 9, b"short"), ("h", 9, b"x" * 257)],
)
def test_an_address_that_makes_no_sense_is_refused(host: str, port: int, token: bytes) -> None:
    with pytest.raises(ValueError, match=r"an address is|a token has"):
        FarAddress(host, port, token, None)


@pytest.mark.parametrize("fingerprint", ["", "ab", "g" * 64, "0" * 63])
def test_a_fingerprint_that_is_none_is_refused(fingerprint: str) -> None:
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        Tls(fingerprint=fingerprint)
