"""L4: ports are bound and kept."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from gym_anything._util.ports import bind_loopback, bind_loopback_or_any, port_of
from gym_anything.errors import HostError

pytestmark = pytest.mark.unit


def test_64_parallel_binds_collide_nowhere() -> None:
    """L4."""
    with ThreadPoolExecutor(16) as pool, ExitStack() as stack:
        sockets = [stack.enter_context(closing(sock)) for sock in pool.map(lambda _: bind_loopback(), range(64))]
        assert len({port_of(sock) for sock in sockets}) == 64
        assert {sock.getsockname()[0] for sock in sockets} == {"127.0.0.1"}


def test_a_taken_port_is_said_or_becomes_a_free_one() -> None:
    with closing(bind_loopback(listen=True)) as taken:
        with pytest.raises(HostError, match=str(port_of(taken))):
            bind_loopback(port_of(taken))
        other, wished = bind_loopback_or_any(port_of(taken))
        with closing(other):
            assert not wished
            assert port_of(other) != port_of(taken)


def test_a_port_whose_last_connection_is_still_closing_is_free() -> None:
    with closing(bind_loopback(listen=True)) as first:
        port = port_of(first)
        with socket.create_connection(("127.0.0.1", port)) as viewer:
            served, _ = first.accept()
            served.close()  # the side that closes first keeps the port in TIME_WAIT
            assert viewer.recv(1) == b""
    with closing(bind_loopback(port, listen=True)) as again:
        assert port_of(again) == port


@pytest.mark.parametrize("port", [70_000, -1])
def test_an_impossible_port_is_said(port: int) -> None:
    with pytest.raises(HostError):
        bind_loopback(port)
