"""The pure parts of the supervisor: escalation and wire."""

from __future__ import annotations

import itertools
import os
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util.supervision import wire
from gym_anything._util.supervision.escalation import DONE, KILL, POLITE, STUCK, STUCK_AFTER_S, Escalation

pytestmark = pytest.mark.unit


def _play(grace_s: float, dies_at: float, until: float = 60) -> list[tuple[float, str]]:
    now, escalation, done = 0.0, Escalation(0.0, grace_s), list[tuple[float, str]]()
    while now < until:
        step = escalation.look(now, 0 if now >= dies_at else 1)
        if step is not None:
            done.append((now, step))
        if step in (DONE, STUCK):
            break
        assert now < escalation.next_look <= now + 0.0501
        now = escalation.next_look
    return done


@given(st.floats(0, 10), st.floats(0, 30))
def test_a_stop_asks_once_then_waits_then_kills_until_nothing_is_left(grace_s: float, dies_at: float) -> None:
    steps = _play(grace_s, dies_at)
    kinds = [kind for _, kind in steps]
    assert kinds.count(POLITE) == (1 if dies_at > 0 and grace_s > 0 else 0)
    assert all(now < grace_s for now, kind in steps if kind == POLITE)
    assert all(now >= grace_s for now, kind in steps if kind in (KILL, STUCK))
    assert kinds[-1] == (DONE if dies_at < grace_s + STUCK_AFTER_S else STUCK) or (
        abs(dies_at - grace_s - STUCK_AFTER_S) < 0.06
    )
    assert steps[-1][0] <= max(min(dies_at, grace_s + STUCK_AFTER_S) + 0.0501, 0.0501)


def test_a_tree_that_has_already_ended_is_done_without_a_signal() -> None:
    assert _play(2, 0) == [(0.0, DONE)]


def test_hurry_only_shortens_the_grace() -> None:
    """L8: a limit is never relaxed."""
    escalation = Escalation(0.0, 2.0)
    escalation.look(0.0, 1)
    escalation.hurry(0.5, 10.0)
    assert escalation.kill_at == 2.0
    escalation.hurry(0.5, 0.0)
    assert escalation.look(0.5, 1) == KILL


MESSAGES = st.lists(
    st.tuples(
        st.integers(0, 2**40),
        st.text(max_size=20),
        st.lists(st.binary(max_size=20), max_size=4) | st.none() | st.floats(allow_nan=False),
    ),
    max_size=8,
)


@given(MESSAGES, st.lists(st.integers(1, 50), min_size=1, max_size=30))
def test_messages_come_out_as_they_went_in_however_the_stream_is_cut(
    messages: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    stream = b"".join(wire.pack(message) for message in messages)
    unpacker, out, position = wire.Unpacker(), list[tuple[Any, ...]](), 0
    while position < len(stream):
        size = cuts[position % len(cuts)]
        out += [message for message, _ in unpacker.feed(stream[position : position + size], [])]
        position += size
    assert out == messages


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_each_message_gets_its_own_descriptors(counts: list[int]) -> None:
    unpacker, fds = wire.Unpacker(), iter(range(100, 200))
    own = [[next(fds) for _ in range(count)] for count in counts]
    stream = b"".join(wire.pack((n,), len(part)) for n, part in enumerate(own))
    got = list(unpacker.feed(stream[:3], list(itertools.chain(*own))))  # descriptors come with the first byte
    got += list(unpacker.feed(stream[3:], []))
    assert [fds for _, fds in got] == own


def test_an_outbox_passes_real_descriptors_and_closes_its_own_copies() -> None:
    one, two = socket.socketpair()
    with one, two:
        readable, writable = os.pipe()
        outbox = wire.Outbox()
        outbox.put((1, "x"), [writable])
        assert outbox.flush(one)
        data, fds = wire.receive(two)
        [(message, own)] = wire.Unpacker().feed(data, fds)
        assert message == (1, "x")
        assert not os.get_inheritable(own[0])
        os.write(own[0], b"through")
        os.close(own[0])
        assert os.read(readable, 10) == b"through"
        assert os.read(readable, 10) == b""  # no copy is left open
        os.close(readable)
