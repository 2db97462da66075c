"""Whatever a client sends, the sanitized service answers or hangs up, and serves the next one."""

from __future__ import annotations

import random
import socket
import struct

import pytest

from gym_anything.actions.model import Click
from gym_anything.runtime.desktop.link import Link
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS, MESSAGES, OPS
from tests.integration.desktop.conftest import StartScreen
from tests.integration.desktop.screen import XVFB, Screen, soon

pytestmark = pytest.mark.real


@pytest.fixture
def screen(start_screen: StartScreen, sanitized_program: object) -> Screen:
    """A screen whose service stops at the first wrong access."""
    return start_screen(server=XVFB, program=sanitized_program)


def connect(screen: Screen) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(20)
    connected.connect(str(screen.socket))
    return connected


def send_and_drain(connected: socket.socket, data: bytes) -> None:
    """Send, say that this is all, and read to the end of what comes back."""
    connected.settimeout(20)  # a link leaves it without
    try:
        connected.sendall(data)
        connected.shutdown(socket.SHUT_WR)
        while connected.recv(65536):
            pass
    except (BrokenPipeError, ConnectionResetError):
        pass


def assert_well(screen: Screen) -> None:
    """The service still serves, and no sanitizer has said anything."""
    client = screen.client()
    assert client.frame().width == 1280
    assert client.send([Click("left", 7, 8)]).pointer == (7, 8)
    client.close()
    assert screen.service.poll() is None
    assert screen.log("ga-desktop") == ""


def message(name: str | int, body: bytes, size: int | None = None, zero: int = 0) -> bytes:
    code = MESSAGES[name] if isinstance(name, str) else name
    return FIELDS["HEADER"].pack(len(body) if size is None else size, code, zero, 1) + body


def test_random_bytes_before_the_opening(screen: Screen) -> None:
    chance = random.Random(1)
    screen.client()
    for _ in range(300):
        with connect(screen) as connected:
            send_and_drain(connected, chance.randbytes(chance.randrange(1, 400)))
    assert_well(screen)


def test_nearly_right_messages_before_the_opening(screen: Screen) -> None:
    chance = random.Random(2)
    screen.client()
    hello = FIELDS["HELLO"].pack(CONSTANTS["MAGIC"], CONSTANTS["VERSION"], CONSTANTS["ROLE_INPUT"], b"n" * 32)
    for _ in range(300):
        parts = [message(chance.choice([1, 3, 5, 16, 32, 999]), chance.randbytes(chance.randrange(100))) for _ in "123"]
        parts.insert(chance.randrange(3), message("HELLO", hello))
        parts.insert(chance.randrange(3), message("HELLO", hello, size=chance.choice([0, 1 << 20, 0xFFFFFFFF])))
        with connect(screen) as connected:
            send_and_drain(connected, b"".join(parts))
    assert_well(screen)


@pytest.mark.parametrize("role", ["FRAMES", "INPUT"])
def test_random_messages_of_a_client_that_knows_the_token(screen: Screen, role: str) -> None:
    """Well-formed headers, random bodies; nothing in them presses keys for long."""
    chance = random.Random(3)
    screen.client()
    for _ in range(150):
        connected = connect(screen)
        link = Link(connected, role)
        link.open(screen.token, soon())
        data = b""
        for _ in range(chance.randrange(1, 8)):
            name = chance.choice([*MESSAGES, 999]) if chance.random() < 0.2 else _of_role(chance, role)
            data += message(name, _body(chance, name))
        send_and_drain(connected, data)
        link.close()
    assert_well(screen)


def test_a_client_that_sends_slowly_or_too_much_harms_nobody(screen: Screen) -> None:
    client = screen.client()
    slow = connect(screen)
    link = Link(slow, "INPUT")
    link.open(screen.token, soon())
    slow.settimeout(30)  # a link's socket does not wait; this client does
    slow.sendall(FIELDS["HEADER"].pack(CONSTANTS["MAX_BODY"], MESSAGES["INPUT"], 0, 1))
    for _ in range(16):
        slow.sendall(b"\0" * 65535)
        assert client.frame().width == 1280
    link.close()
    deaf = connect(screen)
    link = Link(deaf, "FRAMES")
    link.open(screen.token, soon())
    ask = message("FRAME_REQUEST", FIELDS["FRAME_REQUEST"].pack(CONSTANTS["FRAME_FRESH"]))
    deaf.settimeout(30)
    with pytest.raises(ConnectionError):  # it hangs up on a client that does not read
        for _ in range(100_000):
            deaf.sendall(ask)
    link.close()
    assert_well(screen)


def _of_role(chance: random.Random, role: str) -> str:
    return chance.choice(
        ["FRAME_REQUEST", "SETTLE"] if role == "FRAMES" else ["INPUT", "INPUT", "POINTER_REQUEST", "RELEASE"]
    )


def _body(chance: random.Random, name: str | int) -> bytes:
    if name == "INPUT":
        return FIELDS["INPUT"].pack(chance.choice([0, 1, 2, 3, 5000])) + b"".join(
            _op(chance) for _ in range(chance.randrange(4))
        )
    if name == "FRAME_REQUEST" and chance.random() < 0.7:
        return struct.pack("<I", chance.randrange(8))
    if name == "SETTLE" and chance.random() < 0.7:
        return FIELDS["SETTLE"].pack(
            chance.randrange(40),
            chance.randrange(60),
            chance.choice([0, 0, 1, 1, 2]),
            chance.choice([0, 0, 1, 16, 17, 1 << 30]),
        )
    return chance.randbytes(chance.choice([0, 0, 4, 12, 200]))


def _op(chance: random.Random) -> bytes:
    name = chance.choice([name for name in OPS if name != "DRAG"])
    values = [chance.choice([0, 1, 2, 5, 255]) for _ in range(12)]
    if name in ("MOVE", "CLICK"):
        places = struct.pack(
            "<ii", chance.choice([0, 5, 1279, 1280, -1, 1 << 30]), chance.choice([0, 5, 799, 800, -(1 << 31)])
        )
        return bytes([OPS[name]]) + places + (bytes(values[:2]) if name == "CLICK" else b"")
    if name == "SCROLL":
        return bytes([OPS[name]]) + struct.pack("<ii", *(chance.choice([0, 1, -3, 10001, -(1 << 31)]) for _ in "xy"))
    if name == "TEXT":
        text = chance.choice([b"a", "é你😀".encode(), b"\xff", b"\x00", b"", chance.randbytes(20)])
        return bytes([OPS[name]]) + struct.pack("<I", len(text) + chance.choice([0, 0, 0, 1, 1 << 31])) + text
    if name in ("PRESS", "KEYS_DOWN", "KEYS_UP"):
        keys = [
            chance.choice([0x61, 0xFFE1, 0x1004E00 + chance.randrange(500), 0, 0xFFFFFFFF])
            for _ in range(chance.randrange(4))
        ]
        return bytes([OPS[name], chance.choice([len(keys), 255])]) + struct.pack(f"<{len(keys)}I", *keys)
    return bytes([OPS[name], *values[:2]])
