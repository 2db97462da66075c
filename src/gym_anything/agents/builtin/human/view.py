"""The live view: a page on loopback that shows the screen and takes clicks, keys and text."""

from __future__ import annotations

import json
import queue
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gym_anything.agents.builtin.human.commands import DONE, checked
from gym_anything.agents.builtin.human.page import PAGE
from gym_anything.errors import ActionError

_LARGEST_BODY = 64 * 1024


class LiveView:
    """Serves one page on 127.0.0.1, to whoever knows its address: the token in it is the only key.

    What a person does lands in ``wishes``: a list of actions, or ``DONE``.
    """

    def __init__(self, task: str, screen: tuple[int, int], wishes: queue.SimpleQueue[Any], *, port: int = 0) -> None:
        """Start serving. Raises: OSError when the port is taken."""
        self._task, self._screen, self._wishes = task, screen, wishes
        self._token = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        self._png, self._number, self._said = b"", 0, ""
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._door())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The page's address; a secret."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/?token={self._token}"

    def show(self, png: bytes, said: str = "") -> None:
        """Show a new screen, and what became of the last action."""
        with self._lock:
            self._png, self._number, self._said = png, self._number + 1, said

    def close(self) -> None:
        """Stop serving. Idempotent."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _state(self) -> dict[str, Any]:
        with self._lock:
            return {"frame": self._number, "said": self._said}

    def _take(self, wish: Any) -> str | None:
        """Queue a wish; returns what is wrong with it."""
        if wish == DONE:
            self._wishes.put(DONE)
            return None
        try:
            self._wishes.put(checked(wish, self._screen))
        except ActionError as error:
            return str(error)
        return None

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path == "/":
            page = PAGE.replace("@TASK@", _escaped(self._task)).replace("@TOKEN@", self._token)
            return 200, "text/html; charset=utf-8", page.encode()
        if path == "/screen.png":
            with self._lock:
                return 200, "image/png", self._png
        if path == "/state":
            return 200, "application/json", json.dumps(self._state()).encode()
        return 404, "text/plain", b"not here"

    def _door(self) -> type[BaseHTTPRequestHandler]:
        answer, take, token = self._answer, self._take, self._token

        class Door(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._if_allowed(lambda path: answer(path))

            def do_POST(self) -> None:
                self._if_allowed(self._wish)

            def _wish(self, path: str) -> tuple[int, str, bytes]:
                length = self.headers.get("content-length", "")
                if path != "/act" or not length.isdigit() or int(length) > _LARGEST_BODY:
                    return 400, "text/plain", b"not a wish"
                try:
                    wish = json.loads(self.rfile.read(int(length)))
                except ValueError:
                    return 400, "text/plain", b"not JSON"
                problem = take(wish)
                return 400 if problem else 200, "application/json", json.dumps({"problem": problem}).encode()

            def _if_allowed(self, act: Callable[[str], tuple[int, str, bytes]]) -> None:
                place = urlsplit(self.path)
                given = parse_qs(place.query).get("token", [""])[0]
                allowed = secrets.compare_digest(given.encode(), token.encode())
                status, kind, body = act(place.path) if allowed else (403, "text/plain", b"the address is not complete")
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.send_header("cache-control", "no-store")
                self.send_header("referrer-policy", "no-referrer")
                self.send_header("x-frame-options", "DENY")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Requests carry the token, so none is logged."""

        return Door


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
