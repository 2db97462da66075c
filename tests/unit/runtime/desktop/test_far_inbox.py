"""Whatever comes over a stream, in whatever pieces, is taken as messages or refused, in memory of one size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.errors import BadWire
from gym_anything.runtime.desktop.far_inbox import Inbox
from gym_anything.runtime.desktop.far_wire import DIALECT, MESSAGES, OWN_FIELDS
from gym_anything.runtime.desktop.wire import FIELDS

pytestmark = pytest.mark.unit

LARGEST = 60
messages = st.sampled_from(sorted(MESSAGES)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.integers(0, 2**64 - 1),
        st.binary(min_size=OWN_FIELDS[name].size, max_size=max(LARGEST, OWN_FIELDS[name].size)),
    )
)


def encoded(name: str, request: int, body: bytes) -> bytes:
    return FIELDS["HEADER"].pack(len(body), MESSAGES[name], 0, request) + body


def feed(inbox: Inbox, data: bytes, step: int) -> list[tuple[int, int, bytes]]:
    """Give the data in pieces of at most ``step`` bytes; return what came out."""
    taken = []
    while data:
        space = inbox.space()
        assert len(space) > 0
        piece = data[: min(step, len(space))]
        space[: len(piece)] = piece
        inbox.note(len(piece))
        data = data[len(piece) :]
        while (arrived := inbox.take()) is not None:
            taken.append((arrived.message, arrived.request, bytes(arrived.body)))
    return taken


@given(st.lists(messages, max_size=12), st.integers(1, 400))
def test_messages_come_out_as_they_went_in_however_they_are_cut(sent: list[tuple[str, int, bytes]], step: int) -> None:
    inbox = Inbox(DIALECT, 200)
    data = b"".join(encoded(*one) for one in sent)
    assert feed(inbox, data, step) == [(MESSAGES[name], request, body) for name, request, body in sent]
    assert inbox.take() is None


@given(st.binary(max_size=500), st.integers(1, 64))
def test_any_bytes_are_taken_or_refused(data: bytes, step: int) -> None:
    inbox = Inbox(DIALECT, LARGEST)
    try:
        for message, _, body in feed(inbox, data, step):
            assert message in DIALECT.names and len(body) <= LARGEST
    except BadWire:
        pass


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (FIELDS["HEADER"].pack(LARGEST + 1, MESSAGES["FRAME"], 0, 1), "no message"),
        (FIELDS["HEADER"].pack(0xFFFFFFFF, MESSAGES["RECT"], 0, 1), "no message"),
        (FIELDS["HEADER"].pack(8, 999, 0, 1), "no message"),
        (FIELDS["HEADER"].pack(8, MESSAGES["POINTER"], 7, 1), "no message"),
        (FIELDS["HEADER"].pack(7, MESSAGES["POINTER"], 0, 1), "too short"),
        (b"HTTP/1.1 400 Bad Request\r\n", "no message"),
        (b"\x15\x03\x03\x00\x02\x02\x46" + bytes(9), "speaks TLS"),
    ],
)
def test_what_is_no_message_is_refused_as_soon_as_its_head_is_there(head: bytes, said: str) -> None:
    with pytest.raises(BadWire, match=said):
        feed(Inbox(DIALECT, LARGEST), head, 5)
