from __future__ import annotations

import os
import socket

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Unreachable
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
