"""The door for people: who is let in."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from gym_anything.runtime.vnc.des import rfb_answer
from gym_anything.runtime.vnc.forward import admit, greet_server

pytestmark = pytest.mark.unit


def knock(password: str, version: bytes = b"RFB 003.008\n", kind: int = 2) -> tuple[bool, bytes]:
    """Knock as a viewer; return whether the door opened, and what it said after the answer."""
    inside, outside = socket.socketpair()
    opened: list[bool] = []
    with inside, outside:
        outside.settimeout(5)
        inside.settimeout(5)
        thread = threading.Thread(target=lambda: opened.append(admit(inside, "sesame")))
        thread.start()
        assert outside.recv(12) == b"RFB 003.008\n"
        outside.sendall(version)
        if version != b"RFB 003.003\n":
            assert outside.recv(2) == bytes([1, 2])
            outside.sendall(bytes([kind]))
        else:
            assert outside.recv(4) == struct.pack(">I", 2)
        said = b""
        if kind == 2:
            outside.sendall(rfb_answer(password, outside.recv(16)))
            said = outside.recv(64)
        thread.join(5)
    return opened[0], said


@pytest.mark.parametrize("version", [b"RFB 003.003\n", b"RFB 003.007\n", b"RFB 003.008\n"])
def test_the_right_password_opens(version: bytes) -> None:
    assert knock("sesame", version) == (True, struct.pack(">I", 0))


def test_a_wrong_password_is_told_so() -> None:
    """N2: VNC never without a password."""
    opened, said = knock("sesam")
    assert not opened
    assert said.startswith(struct.pack(">I", 1)) and b"wrong password" in said


def test_asking_for_no_password_does_not_open() -> None:
    """N2."""
    assert knock("sesame", kind=1) == (False, b"")


def test_the_server_inside_must_want_no_password_of_its_own() -> None:
    inside, outside = socket.socketpair()
    with inside, outside:
        outside.sendall(b"RFB 003.008\n" + bytes([1, 2]))
        with pytest.raises(OSError, match="password of its own"):
            greet_server(inside)
