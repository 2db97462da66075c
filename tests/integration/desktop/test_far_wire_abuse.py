"""Whatever a gate sends, its client answers with a picture or a typed error, in bounded memory and time."""

from __future__ import annotations

import hashlib
import hmac
import random
import socket
import struct
import threading
import tracemalloc
from collections.abc import Callable, Iterator

import lz4.block
import numpy as np
import pytest

from gym_anything._util import ports
from gym_anything.actions.model import Move
from gym_anything.errors import BadWire, DeadlineExceeded, GymAnythingError, InputDeliveryUnknown, SessionLost
from gym_anything.runtime.desktop.far_address import FarAddress
from gym_anything.runtime.desktop.far_client import FarDesktop
from gym_anything.runtime.desktop.far_wire import CONSTANTS, MESSAGES, OWN_FIELDS
from gym_anything.runtime.desktop.wire import FIELDS
from tests.integration.desktop.screen import soon

pytestmark = pytest.mark.real

TOKEN = b"the token of a gate that misbehaves"
HEADER = FIELDS["HEADER"]
SIZE = (64, 48)
PIXELS = np.arange(64 * 48 * 3, dtype=np.uint32).astype(np.uint8).reshape(48, 64, 3)
BOMB = lz4.block.compress(bytes(64 << 20), store_size=False)
Script = Callable[[str, int], bytes]
"""Name and number of a request -> what is sent for it."""


def message(name: str, request: int, *fields: int | bytes, tail: bytes = b"", size: int | None = None) -> bytes:
    body = OWN_FIELDS[name].pack(*fields) + tail
    return HEADER.pack(len(body) if size is None else size, MESSAGES[name], 0, request) + body


def frame(request: int, flags: int = CONSTANTS["FRAME_WHOLE"], number: int = 1, size: tuple[int, int] = SIZE) -> bytes:
    return message("FRAME", request, flags, 5, request, number, 0, 0, *size)


def rect(request: int, x: int = 0, y: int = 0, pixels: np.ndarray = PIXELS) -> bytes:
    packed = lz4.block.compress(pixels.tobytes(), store_size=False)
    return message("RECT", request, x, y, pixels.shape[1], pixels.shape[0], CONSTANTS["ENCODING_LZ4"], tail=packed)


def end(request: int, number: int = 1, count: int = 1) -> bytes:
    return message("FRAME_END", request, number, count)


def good(name: str, request: int) -> bytes:
    """What a gate that behaves sends."""
    return {
        "FRAME_REQUEST": frame(request) + rect(request) + end(request),
        "INPUT": message("INPUT_ACK", request, 1, 0, 1, 5, 6, 0),
        "POINTER_REQUEST": message("POINTER", request, 5, 6),
        "SETTLE": message("SETTLED", request, 1, 1000),
        "BYE": message("BYE", request),
    }[name]


class ScriptedGate:
    """Opens as a gate should and then sends what its script says; hangs up when that is nothing."""

    def __init__(self) -> None:
        self.script: Script = good
        self.asked: list[str] = []
        self._door = ports.bind_loopback(listen=True)
        self.address = FarAddress("127.0.0.1", ports.port_of(self._door), TOKEN, None)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._door.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._door.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(sock,)))
            self._threads[-1].start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(10)
        stream = sock.makefile("rb")
        try:
            self._open(sock, stream)
            while head := stream.read(HEADER.size):
                size, code, _, request = HEADER.unpack(head)
                stream.read(size)
                name = next(name for name, value in MESSAGES.items() if value == code)
                self.asked.append(name)
                said = self.script(name, request) if name != "BYE" else good(name, request)
                sock.sendall(said)
                if not said or name == "BYE":
                    break
        except (OSError, struct.error):
            pass
        finally:
            stream.close()
            sock.close()

    @staticmethod
    def _open(sock: socket.socket, stream: object) -> None:
        hello = stream.read(HEADER.size + OWN_FIELDS["HELLO"].size)[HEADER.size :]  # type: ignore[attr-defined]
        proof = hmac.digest(TOKEN, b"ga-gate service" + hello + b"n" * 32, hashlib.sha256)
        sock.sendall(message("CHALLENGE", 1, CONSTANTS["VERSION"], b"n" * 32, proof))
        stream.read(HEADER.size + OWN_FIELDS["PROOF"].size)  # type: ignore[attr-defined]
        sock.sendall(message("WELCOME", 2, b"s" * 16, 0, 0, 0, 1, 60, *SIZE, tail=b"vendor\0note"))


@pytest.fixture
def gate() -> Iterator[ScriptedGate]:
    """A gate that sends what the test says."""
    gate = ScriptedGate()
    try:
        yield gate
    finally:
        gate.close()


@pytest.fixture
def far(gate: ScriptedGate) -> Iterator[FarDesktop]:
    """A client of it."""
    with FarDesktop.connect(gate.address, deadline=soon()) as far:
        yield far


def test_a_gate_that_behaves_is_believed(far: FarDesktop) -> None:
    assert (far.frame().array == PIXELS).all()
    assert far.send([Move(5, 6)]).pointer == far.pointer() == (5, 6)
    assert far.settle().settled


WHOLE, UNCHANGED = CONSTANTS["FRAME_WHOLE"], CONSTANTS["FRAME_UNCHANGED"]
BAD_FRAMES: dict[str, Callable[[int], bytes]] = {
    "another request": lambda r: frame(r + 1) + rect(r) + end(r),
    "a part of another request": lambda r: frame(r) + rect(r + 7) + end(r),
    "a huge picture": lambda r: frame(r, size=(65535, 65535)),
    "an empty picture": lambda r: frame(r, size=(0, 5)) + end(r, count=0),
    "a change of nothing": lambda r: frame(r, 0) + rect(r) + end(r),
    "unchanged, but nothing is held": lambda r: frame(r, UNCHANGED),
    "a part outside": lambda r: frame(r) + rect(r, x=1) + end(r),
    "parts missing": lambda r: frame(r) + rect(r, pixels=PIXELS[1:]) + end(r),
    "a wrong count": lambda r: frame(r) + rect(r) + end(r, count=2),
    "the end of another picture": lambda r: frame(r) + rect(r) + end(r, number=2),
    "number zero": lambda r: frame(r, number=0) + rect(r) + end(r, number=0),
    "no picture but an answer": lambda r: message("POINTER", r, 1, 2),
    "another message within": lambda r: frame(r) + message("POINTER", r, 1, 2),
    "an unknown message": lambda r: HEADER.pack(4, 77, 0, r) + b"abcd",
    "a length without end": lambda r: HEADER.pack(0xFFFFFFF0, MESSAGES["RECT"], 0, r) + b"x" * 100,
    "too short": lambda r: HEADER.pack(3, MESSAGES["FRAME"], 0, r) + b"abc",
    "an unknown encoding": lambda r: frame(r) + message("RECT", r, 0, 0, 2, 2, 9, tail=bytes(12)),
    "a bomb": lambda r: frame(r, size=(4000, 4000)) + message("RECT", r, 0, 0, 4000, 43, 1, tail=BOMB),
}


@pytest.mark.parametrize("what", BAD_FRAMES)
def test_a_bad_frame_is_bad_wire_and_the_next_good_one_is_taken(gate: ScriptedGate, far: FarDesktop, what: str) -> None:
    gate.script = lambda name, request: BAD_FRAMES[what](request)
    tracemalloc.start()
    try:
        with pytest.raises(BadWire):
            far.frame()
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    gate.script = good
    assert (far.frame().array == PIXELS).all()


def test_random_changes_of_a_good_answer_give_a_picture_or_a_typed_error(gate: ScriptedGate, far: FarDesktop) -> None:
    chance = random.Random(8)
    view = far.frame().array

    def spoilt(name: str, request: int) -> bytes:
        data = bytearray(frame(request, number=request + 1) + rect(request) + end(request, request + 1))
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(data)

    gate.script = spoilt
    errors: set[type[BaseException]] = set()
    for _ in range(400):
        try:
            assert far.frame(deadline=soon(0.05)).array.nbytes <= 128 << 20
        except (BadWire, DeadlineExceeded) as error:
            errors.add(type(error))
        except GymAnythingError as error:
            assert error.code in ("unreachable", "capture-failed", "frame-stale"), error
    assert BadWire in errors
    assert (view == PIXELS).all()
    gate.script = good
    assert (far.frame().array == PIXELS).all()


def test_an_answer_that_never_ends_is_ended_by_the_deadline(gate: ScriptedGate, far: FarDesktop) -> None:
    gate.script = lambda name, request: frame(request) + rect(request) * 2000
    with pytest.raises(DeadlineExceeded):
        far.frame(deadline=soon(0.5))


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: b"",
        lambda request: message("POINTER", request, 1, 2),
        lambda request: message("INPUT_ACK", request + 1, 1, 0, 1, 5, 6, 0),
        lambda request: message("FAILED", request, 32, 0, tail=b"no such session"),
        lambda request: message("FAILED", request, 99, 0, tail=b"what nobody knows"),
        lambda request: message("INPUT_ACK", request, 1, 0, 1, 5, 6, 0)[:20],
    ],
)
def test_an_input_without_an_answer_that_makes_sense_is_of_unknown_delivery(
    gate: ScriptedGate, far: FarDesktop, answer: Callable[[int], bytes]
) -> None:
    gate.script = lambda name, request: answer(request)
    with pytest.raises(InputDeliveryUnknown):
        far.send([Move(1, 1)], deadline=soon(0.4))


def test_a_lost_session_is_said_for_frames_as_it_is(gate: ScriptedGate, far: FarDesktop) -> None:
    gate.script = lambda name, request: message("FAILED", 0, 32, 0, tail=b"it was too long ago")
    with pytest.raises(SessionLost, match="too long ago"):
        far.frame()
