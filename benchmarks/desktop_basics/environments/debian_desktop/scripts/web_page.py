"""Serve one page on loopback and keep what it tells: web_page.py PAGE FOLDER.

FOLDER/port says where it is, FOLDER/painted appears once a person could see it, FOLDER/events.jsonl gets one line for each
POST to /event: what the page sent, and ``at``, the server's own seconds.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PAGE = Path(sys.argv[1]).read_bytes()
FOLDER = Path(sys.argv[2])


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self._answer(PAGE if self.path == "/" else b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/painted":
            (FOLDER / "painted").touch()
        else:
            event = {**json.loads(body), "at": time.monotonic()}
            with (FOLDER / "events.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._answer(b"")

    def _answer(self, page):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


server = HTTPServer(("127.0.0.1", 0), Page)
(FOLDER / "port.new").write_text(str(server.server_port))
(FOLDER / "port.new").rename(FOLDER / "port")  # whole or not at all
server.serve_forever()
