"""The fast keyboard's program where no keyboard can be made: it serves, and says to whoever types what is missing."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Click, KeysDown, TypeText
from gym_anything.errors import ActionUnsupported, BadWire, InputNotDelivered, Unauthorized, WorldStartFailed
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.qemu.fast_keyboard import FastKeyboard
from gym_anything.runtime.qemu.guest_desktop import TcpLanes

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        Path("/dev/uinput").exists(), reason="this host could make a keyboard, and would type on itself"
    ),
]
TOKEN = b"a token of thirty-two bytes long"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a program that runs on this host."""
    read_fd, write_fd = os.pipe()
    os.write(write_fd, TOKEN)
    os.close(write_fd)
    with socket.create_server(("127.0.0.1", 0)) as server:
        argv = [native_program("ga-inputd"), "--listen-fd", str(server.fileno()), "--token-fd", str(read_fd)]
        process = subprocess.Popen(argv, pass_fds=(server.fileno(), read_fd), stderr=subprocess.PIPE, text=True)
        os.close(read_fd)
        yield server.getsockname()[1]
    process.terminate()
    _, said = process.communicate(timeout=10)
    assert process.returncode == 0 and "/dev/uinput" in said


def soon() -> Deadline:
    return Deadline.after(5)


def test_the_contract_is_checked_when_one_connects(port: int) -> None:
    with pytest.raises(WorldStartFailed, match=r"cannot open /dev/uinput .*gym-anything-fast-inputd"):
        FastKeyboard.connect(port, token=TOKEN, deadline=soon())


def test_who_does_not_know_the_secret_is_refused(port: int) -> None:
    with pytest.raises(Unauthorized):
        FastKeyboard.connect(port, token=b"x" * 32, deadline=soon())


@pytest.mark.parametrize("op", [TypeText("ü"), Click("left", 1, 1), KeysDown(("XF86AudioPlay",))])
def test_what_it_cannot_do_is_refused_before_a_key_goes_down(port: int, op: TypeText | Click | KeysDown) -> None:
    keyboard = FastKeyboard(port, TOKEN)
    try:
        with pytest.raises(ActionUnsupported):
            keyboard.send([TypeText("abc"), op], soon())
        with pytest.raises(InputNotDelivered):
            keyboard.send([TypeText("abc")], soon())
        keyboard.release(soon())
    finally:
        keyboard.close()


def test_nonsense_ends_the_connection_and_nothing_else(port: int) -> None:
    lanes = TcpLanes(port, TOKEN)
    try:
        with pytest.raises(BadWire), lanes.input.turn(soon()) as turn:
            turn.request("INPUT", b"\xff" * 7, "INPUT_ACK")
        with pytest.raises(BadWire), lanes.input.turn(soon()) as turn:
            turn.request("SETTLE", b"\0" * 16, "SETTLED")
        with pytest.raises(BadWire), lanes.frames.turn(soon()) as turn:
            turn.request("FRAME_REQUEST", b"\0" * 4, "FRAME")
    finally:
        lanes.close()
    test_who_does_not_know_the_secret_is_refused(port)
