"""The monitor's protocol, fed with everything that may come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.errors import BadWire, WorldLost
from gym_anything.runtime.qemu.qmp_protocol import (
    MAX_LINE_BYTES,
    Ended,
    Event,
    Happening,
    QmpProtocol,
    Ready,
    Reply,
    Send,
    State,
)

pytestmark = pytest.mark.unit

GREETING = (
    b'{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}, "capabilities": []}}\r\n'
)


def line(**message: Any) -> bytes:
    return json.dumps(message).encode() + b"\r\n"


def ready() -> QmpProtocol:
    protocol = QmpProtocol()
    protocol.feed(GREETING)
    protocol.feed(line(**{"return": {}, "id": "ga-1"}))
    assert protocol.state is State.READY
    return protocol


def test_greeting_capabilities_ready() -> None:
    protocol = QmpProtocol()
    [sent] = protocol.feed(GREETING)
    assert isinstance(sent, Send)
    assert json.loads(sent.data) == {"execute": "qmp_capabilities", "id": "ga-1"}
    assert protocol.feed(line(**{"return": {}, "id": "ga-1"})) == [Ready((7, 2, 22))]


def test_commands_wait_until_it_is_ready() -> None:
    protocol = QmpProtocol()
    with pytest.raises(BadWire, match="greeting"):
        protocol.command("stop")
    protocol.feed(GREETING)
    with pytest.raises(BadWire, match="negotiating"):
        protocol.command("stop")


def test_an_answer_belongs_to_the_command_that_was_asked() -> None:
    protocol = ready()
    first, data = protocol.command("query-status")
    second, _ = protocol.command("device_add", {"driver": "VGA"})
    assert json.loads(data) == {"execute": "query-status", "id": first}
    error = {"class": "GenericError", "desc": "no such bus"}
    assert protocol.feed(line(error=error, id=second) + line(**{"return": {"running": True}, "id": first})) == [
        Reply(second, "device_add", None, True, "GenericError", "no such bus"),
        Reply(first, "query-status", {"running": True}),
    ]


def test_events_are_told_apart_from_answers() -> None:
    protocol = ready()
    id, _ = protocol.command("stop")
    event = line(event="STOP", data={}, timestamp={"seconds": 12, "microseconds": 500000})
    assert protocol.feed(event + line(**{"return": {}, "id": id})) == [Event("STOP", {}, 12.5), Reply(id, "stop", {})]


def test_an_answer_that_nobody_waits_for_is_counted_and_dropped() -> None:
    protocol = ready()
    id, _ = protocol.command("query-status")
    protocol.abandon(id)
    assert protocol.feed(line(**{"return": {}, "id": id})) == []
    assert (protocol.late, protocol.state) == (1, State.READY)


@pytest.mark.parametrize(
    "bad",
    [
        b"hello\n",
        b"[1, 2]\n",
        b'{"neither": 1}\n',
        b'{"return": {}}\n',
        b'{"error": {"class": "GenericError", "desc": "JSON parse error"}}\n',
        b'{"return": {}, "id": "ga-999"}\n',
        b'{"return": {}, "id": 7}\n',
        b'{"event": 5}\n',
        b'{"event": "STOP", "timestamp": {"seconds": "soon"}}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_not_the_protocol_ends_the_conversation(bad: bytes) -> None:
    protocol = ready()
    [end] = protocol.feed(bad)
    assert isinstance(end, Ended)
    assert isinstance(end.reason, BadWire)
    with pytest.raises(BadWire) as caught:
        protocol.command("stop")
    assert caught.value is end.reason


@pytest.mark.parametrize("bad", [b'{"return": {}}\n', b'{"QMP": {}}\n', b'{"QMP": {"version": {"qemu": 7}}}\n'])
def test_it_begins_with_a_greeting(bad: bytes) -> None:
    [end] = QmpProtocol().feed(bad)
    assert isinstance(end, Ended) and isinstance(end.reason, BadWire)


def test_a_refused_negotiation_ends_it() -> None:
    protocol = QmpProtocol()
    protocol.feed(GREETING)
    [end] = protocol.feed(line(error={"class": "GenericError", "desc": "no"}, id="ga-1"))
    assert isinstance(end, Ended) and "no" in str(end.reason)


def test_the_first_reason_stays() -> None:
    protocol = ready()
    [end] = protocol.feed(b"garbage\n")
    assert protocol.feed(b"") == [] and protocol.feed(GREETING) == []
    assert isinstance(end, Ended)
    assert protocol.fail(WorldLost("later")) is end.reason is protocol.ended


def test_hanging_up_is_the_end_of_the_machine() -> None:
    [end] = ready().feed(b"")
    assert isinstance(end, Ended) and isinstance(end.reason, WorldLost)


def test_an_endless_line_is_refused() -> None:
    protocol = ready()
    [end] = protocol.feed(b"x" * (MAX_LINE_BYTES + 1))
    assert isinstance(end, Ended) and isinstance(end.reason, BadWire)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    max_leaves=8,
)
events = st.builds(
    lambda name, data: {"event": name, "data": data, "timestamp": {"seconds": 1, "microseconds": 0}},
    st.text(min_size=1),
    st.dictionaries(st.text(), values),
)


@given(st.lists(st.one_of(events, values.map(lambda value: {"answer": value})), max_size=10), st.data())
def test_cuts_between_reads_change_nothing(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    """Every command gets its own answer and every event comes once, in order, however the bytes are cut."""
    protocol, stream, wanted = ready(), b"", []
    for message in messages:
        if "event" in message:
            stream += line(**message)
            wanted.append(Event(message["event"], message["data"], 1.0))
        else:
            id, _ = protocol.command("query")
            stream += line(**{"return": message["answer"], "id": id})
            wanted.append(Reply(id, "query", message["answer"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    found: list[Happening] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        if begin < end:
            found += protocol.feed(stream[begin:end])
    assert found == wanted


@given(
    st.lists(
        st.binary(max_size=40) | st.sampled_from([GREETING, b'{"return":{},"id":"ga-1"}\n', b"\n", b"{}"]), max_size=20
    )
)
def test_no_bytes_make_it_raise_and_it_ends_at_most_once(chunks: list[bytes]) -> None:
    protocol = QmpProtocol()
    ends = [happening for chunk in chunks for happening in protocol.feed(chunk) if isinstance(happening, Ended)]
    assert len(ends) <= 1
    assert (protocol.state is State.ENDED) == bool(ends)
