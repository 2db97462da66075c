"""Serves a pool's metrics on loopback to who has the token: ``GET /metrics``, ``GET /transitions`` (JSON lines)."""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from gym_anything._util.ports import bind_loopback
from gym_anything.errors import SettingInvalid

_REQUEST_S = 10.0
SHORTEST_TOKEN = 16

Pages = dict[str, tuple[str, Callable[[], bytes]]]
"""Path to (content type, what renders it)."""


class MetricsServer:
    """A few pages over HTTP, on 127.0.0.1 only. Use it in a with statement, or ``close`` it.

    Attributes:
        port: where it listens.
    """

    def __init__(self, pages: Pages, token: str, port: int = 0) -> None:
        """Serve from now on, in threads of its own.

        Args: token: what a request must bring (``Authorization: Bearer …``). port: 0 is any free one.
        Raises: HostError when the port is taken; SettingInvalid for a token that can be guessed.
        """
        if len(token) < SHORTEST_TOKEN:
            raise SettingInvalid(
                f"the token for metrics has {len(token)} characters; at least {SHORTEST_TOKEN} are needed",
                detail={"setting": "token"},
            )
        with bind_loopback(port, listen=True) as bound:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(pages, token), bind_and_activate=False)
            self._server.socket.close()
            self._server.socket = bound.dup()
        self._server.daemon_threads = True
        self.port: int = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="pool metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop. Idempotent. Blocks: until the thread has ended, under a second."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def json_lines(rows: list[dict[str, Any]]) -> bytes:
    """Return one JSON object for each line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _handler(pages: Pages, token: str) -> type[BaseHTTPRequestHandler]:
    wanted = f"Bearer {token}".encode()

    class Answer(BaseHTTPRequestHandler):
        timeout = _REQUEST_S
        server_version = "gym-anything"
        sys_version = ""

        def do_GET(self) -> None:
            given = self.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(given, wanted):
                self._say(401, "text/plain", b"a token is needed: Authorization: Bearer ...\n")
                return
            page = pages.get(self.path.partition("?")[0])
            if page is None:
                self._say(404, "text/plain", f"there are: {', '.join(pages)}\n".encode())
            else:
                self._say(200, page[0], page[1]())

        def _say(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", "Bearer")
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: scrapes are no news."""

    return Answer
