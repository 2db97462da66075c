from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import BadWire, Unreachable
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.handshake import open_connection

pytestmark = pytest.mark.unit


def open_after_the_guest_said(last_words: bytes) -> None:
    ours, guests = socket.socketpair()
    with ours:
        guests.sendall(last_words)
        guests.close()
        open_connection(ours, os.urandom(32), Deadline.after(5))


def test_a_guest_that_refuses_and_hangs_up_before_it_listens_is_heard() -> None:
    refusal = wire.encode_frame(
        "REFUSED",
        0,
        error=wire.ERRORS["ERROR_BUSY"],
        version=wire.CONSTANTS["VERSION"],
        message=b"too many connections",
    )
    with pytest.raises(Unreachable, match="no room for another connection: too many connections"):
        open_after_the_guest_said(refusal)


def test_a_guest_that_hangs_up_without_a_word_is_unreachable() -> None:
    with pytest.raises(Unreachable, match="closed the connection"):
        open_after_the_guest_said(b"")


@pytest.mark.parametrize("cut", [0, 1, 11, 12, 13])
def test_on_a_line_the_last_words_to_an_earlier_peer_are_skipped(cut: int) -> None:
    """Whole frames, and one that lost its beginning, come before the answer to our HELLO."""
    token = os.urandom(32)
    stale = wire.encode_frame("STARTED", 2, pid=12)[cut:] + wire.encode_frame("OUTPUT", 2, stream=1, data=b"here\n")
    ours, guests = socket.socketpair()
    with ours, guests, ThreadPoolExecutor(1) as pool:
        guests.sendall(stale)
        opening = pool.submit(open_connection, ours, token, Deadline.after(5), line=True)
        hello = wire.decode_payload("HELLO", guests.recv(4096)[wire.HEADER_SIZE :])
        nonce = os.urandom(wire.CONSTANTS["NONCE_SIZE"])
        proof = wire.proof(token, "guest", hello["nonce"], nonce)
        guests.sendall(
            wire.encode_frame("CHALLENGE", 0, version=wire.CONSTANTS["VERSION"], nonce=nonce, proof=proof)
            + wire.encode_frame("WELCOME", 0, role=wire.CONSTANTS["ROLE_SERVE"], pid=7, build=b"of today")
        )
        assert opening.result(5).pid == 7


def test_on_a_socket_of_its_own_anything_but_the_answer_is_told() -> None:
    with pytest.raises(BadWire, match="STARTED where CHALLENGE belongs"):
        open_after_the_guest_said(wire.encode_frame("STARTED", 2, pid=12))
