"""The shell around the protocol: deadlines, abort, descriptors, and the root cause in every later call."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, BadWire, DeadlineExceeded, WorldError, WorldLost
from gym_anything.runtime.qemu.qmp import QmpClient
from tests.unit.runtime.qemu.test_qmp_protocol import GREETING, line

pytestmark = pytest.mark.unit


class FakeQemu:
    """The other end of a monitor, in a thread: answers each command by what the test says."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.answer: Callable[[dict[str, Any]], bytes] = lambda message: line(**{"return": {}, "id": message["id"]})
        self.asked: list[dict[str, Any]] = []
        self.fds: list[int] = []
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        self.sock.sendall(GREETING)
        buffer = b""
        while True:
            data, fds, _, _ = socket.recv_fds(self.sock, 65536, 4)
            self.fds += fds
            if not data:
                return
            buffer += data
            while b"\n" in buffer:
                text, _, buffer = buffer.partition(b"\n")
                message = json.loads(text)
                self.asked.append(message)
                self.sock.sendall(self.answer(message))


@pytest.fixture
def qemu() -> Iterator[tuple[QmpClient, FakeQemu]]:
    ours, theirs = socket.socketpair()
    fake, client = FakeQemu(theirs), QmpClient(ours, lambda: "out of memory")
    fake.thread.start()
    client.open(soon())
    yield client, fake
    client.close()
    fake.thread.join()
    theirs.close()
    for fd in fake.fds:
        os.close(fd)


def soon() -> Deadline:
    return Deadline.after(5)


def test_a_command_gets_its_value(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    fake.answer = lambda message: line(**{"return": {"status": "running"}, "id": message["id"]})
    assert client.execute("query-status", {"a": 1}, deadline=soon()) == {"status": "running"}
    assert fake.asked[-1]["arguments"] == {"a": 1}


def test_a_refusal_is_told_and_the_monitor_goes_on(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    usual = fake.answer
    fake.answer = lambda message: line(error={"class": "DeviceNotFound", "desc": "no disk9"}, id=message["id"])
    with pytest.raises(WorldError, match="no disk9") as caught:
        client.execute("device_del", deadline=soon())
    assert caught.value.detail == {"command": "device_del", "class": "DeviceNotFound", "text": "no disk9"}
    fake.answer = usual
    assert client.execute("stop", deadline=soon()) == {}


def test_a_late_answer_is_not_taken_for_the_next_one(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    held: list[bytes] = []

    def hold(message: dict[str, Any]) -> bytes:
        held.append(line(**{"return": "late", "id": message["id"]}))
        return b""

    fake.answer = hold
    with pytest.raises(DeadlineExceeded, match="query-status"):
        client.execute("query-status", deadline=Deadline.after(0.05))
    fake.answer = lambda message: held[0] + line(**{"return": "mine", "id": message["id"]})
    assert client.execute("query-version", deadline=soon()) == "mine"


def test_events_are_kept_for_who_waits_for_them(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    event = line(event="STOP", timestamp={"seconds": 1, "microseconds": 0})
    other = line(event="RTC_CHANGE", timestamp={"seconds": 1, "microseconds": 0})
    fake.answer = lambda message: other + event + line(**{"return": {}, "id": message["id"]})
    client.execute("stop", deadline=soon())
    assert client.await_event(["STOP"], deadline=soon()).name == "STOP"
    with pytest.raises(DeadlineExceeded):
        client.await_event(["STOP"], deadline=Deadline.after(0.02))
    assert client.await_event(["RTC_CHANGE"], deadline=soon()).name == "RTC_CHANGE"


def test_a_machine_that_dies_is_lost_in_every_call_with_the_end_of_its_log(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    fake.sock.shutdown(socket.SHUT_RDWR)
    for _ in range(2):
        with pytest.raises(WorldLost, match="out of memory"):
            client.execute("stop", deadline=soon())


def test_garbage_is_the_reason_of_every_later_call(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    fake.answer = lambda message: b"Segmentation fault\n"
    for _ in range(2):
        with pytest.raises(BadWire, match="Segmentation fault"):
            client.execute("stop", deadline=soon())


def test_abort_ends_a_blocked_call_and_every_later_one(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    asked = threading.Event()

    def never(message: dict[str, Any]) -> bytes:
        asked.set()
        return b""

    fake.answer = never
    ended: list[BaseException] = []

    def wait_for_ever() -> None:
        try:
            client.execute("stop", deadline=Deadline.never())
        except Aborted as error:
            ended.append(error)

    thread = threading.Thread(target=wait_for_ever)
    thread.start()
    assert asked.wait(5)
    client.abort()
    thread.join(1)
    assert not thread.is_alive() and len(ended) == 1
    with pytest.raises(Aborted):
        client.execute("stop", deadline=soon())


def test_descriptors_go_along(qemu: tuple[QmpClient, FakeQemu]) -> None:
    client, fake = qemu
    readable, writable = os.pipe()
    try:
        client.execute("getfd", {"fdname": "x"}, deadline=soon(), fds=[writable])
        os.write(fake.fds[0], b"through")
        assert os.read(readable, 10) == b"through"
    finally:
        os.close(readable)
        os.close(writable)
