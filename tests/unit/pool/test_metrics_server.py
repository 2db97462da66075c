"""Metrics on loopback, for who has the token."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from gym_anything.errors import HostError, SettingInvalid
from gym_anything.pool.metrics_server import MetricsServer, json_lines

pytestmark = pytest.mark.unit
TOKEN = "a-token-that-is-long-enough"


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    pages = {"/metrics": ("text/plain; version=0.0.4", lambda: b"gym_anything_x 1\n")}
    with MetricsServer(pages, TOKEN) as server:
        yield server


def get(server: MetricsServer, path: str, token: str | None = TOKEN) -> tuple[int, bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_who_has_the_token_gets_the_page(server: MetricsServer) -> None:
    assert get(server, "/metrics") == (200, b"gym_anything_x 1\n")
    assert get(server, "/metrics?debug=1")[0] == 200
    assert get(server, "/elsewhere") == (404, b"there are: /metrics\n")


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x"])
def test_nobody_else_does(server: MetricsServer, token: str | None) -> None:
    assert get(server, "/metrics", token)[0] == 401
    assert get(server, "/elsewhere", token)[0] == 401


def test_a_port_that_is_taken_and_a_weak_token_are_refused(server: MetricsServer) -> None:
    with pytest.raises(HostError, match=str(server.port)):
        MetricsServer({}, TOKEN, server.port)
    with pytest.raises(SettingInvalid, match="16"):
        MetricsServer({}, "short")


def test_rows_become_lines() -> None:
    assert json_lines([{"a": 1}, {"b": "ü\n"}]) == '{"a": 1}\n{"b": "ü\\n"}\n'.encode()
