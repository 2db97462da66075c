"""The visitor office: serves the form on loopback and keeps each submission as a JSON file."""

import json
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
PAGE = (Path(__file__).parent / "form.html").read_bytes()


class Office(BaseHTTPRequestHandler):
    def do_GET(self):
        self._answer(PAGE)

    def do_POST(self):
        if self.path == "/painted":  # the page tells that a person could see it now
            (FOLDER / "painted").touch()
            self._answer(b"")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        number = len(list(FOLDER.glob("visitor-*.json"))) + 1
        fields = urllib.parse.parse_qs(body, keep_blank_values=True)
        (FOLDER / f"visitor-{number}.json").write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
        self._answer(b"<!doctype html><meta charset=utf-8><title>Registered</title><h1>Thank you. You are registered.</h1>")

    def _answer(self, page):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


server = HTTPServer(("127.0.0.1", 0), Office)
(FOLDER / "port.new").write_text(str(server.server_port))
(FOLDER / "port.new").rename(FOLDER / "port")  # whole or not at all
server.serve_forever()
