"""D-Bus as QEMU's display speaks it: what we write can be read, what comes torn is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.errors import BadWire
from gym_anything.runtime.qemu import dbus_wire
from gym_anything.runtime.qemu.dbus_wire import Head

pytestmark = pytest.mark.unit

NAME = st.text("abcXYZ_.", min_size=1, max_size=40)


def parsed(message: bytes) -> tuple[Head, bytes]:
    """Read a message as a connection does."""
    start = dbus_wire.read_start(message[:16])
    fields = message[16 : 16 + start.fields_bytes]
    head = dbus_wire.read_fields(start, fields, dbus_wire.fields_length(message))
    body = message[16 + start.fields_bytes :]
    assert len(body) == head.body_bytes
    return head, body


@given(st.integers(1, 2**32 - 1), NAME, NAME, NAME, st.binary(max_size=64))
def test_a_call_reads_as_it_was_written(serial: int, path: str, interface: str, member: str, body: bytes) -> None:
    message = dbus_wire.call(serial, "/" + path, interface, member, signature="ay", body=body, fds=1)
    head, read = parsed(message)
    assert (head.kind, head.serial, head.path, head.interface, head.member) == (
        dbus_wire.CALL,
        serial,
        "/" + path,
        interface,
        member,
    )
    assert head.signature == "ay" and read == body
    assert parsed(dbus_wire.answer(7, head))[0].reply_to == serial


def test_a_call_as_the_specification_writes_it() -> None:
    message = dbus_wire.call(1, "/a", "b.c", "Ping")
    assert message == (
        b"l\x01\x00\x01" + struct.pack("<III", 0, 1, 45)
        + b"\x01\x01o\0\x02\0\0\0/a\0" + bytes(5)
        + b"\x02\x01s\0\x03\0\0\0b.c\0" + bytes(4)
        + b"\x03\x01s\0\x04\0\0\0Ping\0" + bytes(3)
    )  # fmt: skip
    assert b"\x06\x01s\0\x03\0\0\0d.e\0" in dbus_wire.call(1, "/a", "b.c", "Ping", destination="d.e")


def test_an_error_says_why() -> None:
    text = b"\x05\0\0\0wrong\0"
    assert dbus_wire.error_text(Head(dbus_wire.ERROR, 0, len(text), 1, 0, signature="s"), text) == "wrong"
    assert dbus_wire.error_text(Head(dbus_wire.ERROR, 0, 0, 1, 0), b"") == "no reason given"


@pytest.mark.parametrize(
    "start",
    [
        b"B\x01\0\x01" + bytes(12),
        b"l\x01\0\x02" + bytes(12),
        b"l\x01\0\x01" + struct.pack("<III", dbus_wire.MAX_BODY + 1, 1, 0),
        b"l\x01\0\x01" + struct.pack("<III", 0, 1, 1 << 20),
        b"HTTP/1.1 200 OK\r",
    ],
)
def test_what_is_no_message_of_ours_is_refused(start: bytes) -> None:
    with pytest.raises(BadWire):
        dbus_wire.read_start(start)


@given(st.binary(max_size=80))
def test_a_torn_head_is_refused_and_nothing_else(fields: bytes) -> None:
    start = Head(dbus_wire.CALL, 0, 0, 1, len(fields))
    try:
        dbus_wire.read_fields(start, fields, len(fields))
    except BadWire:
        pass
