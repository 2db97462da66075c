"""A screen behind HTTP, the way many tools have it: ``GET /screenshot`` answers with a PNG, ``POST /click`` clicks.

``python -m gym_anything.measure.http_screen_program FOLDER`` listens on a loopback port of the system's choice and
writes the port and a token into ``FOLDER/http-address``. A program of its own: that is what such tools are.
"""

from __future__ import annotations

import hmac
import io
import json
import os
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from PIL import ImageGrab

from gym_anything._util.atomic_write import write_text
from gym_anything.measure.pyautogui_way import PyAutoGui

ADDRESS = "http-address"
_LARGEST_BODY = 4096


class Screen(HTTPServer):
    """The server, with what its answers need."""

    def __init__(self) -> None:
        """Listen on loopback."""
        super().__init__(("127.0.0.1", 0), Answers)
        self.token = secrets.token_hex(16)
        self.display = os.environ["DISPLAY"]
        self.clicks = PyAutoGui()


class Answers(BaseHTTPRequestHandler):
    """One request."""

    server: Screen
    disable_nagle_algorithm = True  # else an answer in two parts can wait 40 ms for the client

    def do_GET(self) -> None:
        """Answer with the screen."""
        if self.path != "/screenshot" or not self._may():
            return self._answer(HTTPStatus.NOT_FOUND)
        png = io.BytesIO()
        ImageGrab.grab(xdisplay=self.server.display).save(png, "PNG")
        return self._answer(HTTPStatus.OK, png.getvalue(), "image/png")

    def do_POST(self) -> None:
        """Move and click."""
        size = int(self.headers.get("Content-Length", "0"))
        if self.path != "/click" or not self._may() or size > _LARGEST_BODY:
            return self._answer(HTTPStatus.NOT_FOUND)
        if self.server.clicks.missing:
            return self._answer(HTTPStatus.NOT_IMPLEMENTED, self.server.clicks.missing.encode(), "text/plain")
        point = json.loads(self.rfile.read(size))
        self.server.clicks.module.click(int(point["x"]), int(point["y"]))
        return self._answer(HTTPStatus.OK)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _may(self) -> bool:
        given = self.headers.get("Authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {self.server.token}".encode())

    def _answer(self, status: HTTPStatus, body: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Listen until the end."""
    with Screen() as screen:
        write_text(Path(sys.argv[1]) / ADDRESS, f"{screen.server_port} {screen.token}", mode=0o600)
        screen.serve_forever()


if __name__ == "__main__":
    main()
