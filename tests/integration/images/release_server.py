"""A server of releases on this host's loopback: ranges, and what goes wrong on the way."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Release:
    """What is served, and how badly.

    Attributes:
        files: path without the leading ``/`` -> content.
        cuts: each answer with content takes one: after so many bytes of it the connection is reset; empty: no more cuts.
        ranges: tell whether parts can be asked for.
        says_length: tell whether an answer says how long it is.
        stall_at: an answer with content stops after so many bytes of it until ``go_on`` is set; None: it does not.
        failures: statuses that the next answers have instead.
        moved: path -> where it is to be found.
        asked: (path, Range header) of every request.
    """

    files: dict[str, bytes]
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    says_length: bool = True
    stall_at: int | None = None
    stalled: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    failures: list[int] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(release: Release) -> Iterator[Release]:
    """Serve it; its ``url`` ends in ``/``. At the end nothing is left."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/").partition("?")[0]
            asked_range = self.headers.get("Range")
            release.asked.append((name, asked_range))
            if release.failures:
                self.send_error(release.failures.pop(0))
            elif name in release.moved:
                self.send_response(302)
                self.send_header("Location", release.moved[name])
                self.end_headers()
            elif name not in release.files:
                self.send_error(404)
            else:
                self._send(release.files[name], asked_range)

        def _send(self, content: bytes, asked_range: str | None) -> None:
            match = re.fullmatch(r"bytes=(\d+)-", asked_range or "")
            begin = int(match[1]) if match and release.ranges else 0
            if begin >= len(content) and begin:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.end_headers()
                return
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            if release.says_length:
                self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            rest = content[begin:]
            if release.stall_at is not None and len(rest) > release.stall_at:
                self.wfile.write(rest[: release.stall_at])
                self.wfile.flush()
                release.stalled.set()
                release.go_on.wait(60)
                return
            if release.cuts:
                self.wfile.write(rest[: release.cuts.pop(0)])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(rest)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.block_on_close = True
    server.daemon_threads = False
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
    thread.start()
    release.url = f"http://127.0.0.1:{server.server_port}/"
    try:
        yield release
    finally:
        release.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()
