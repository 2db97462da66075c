"""A text area of a page in Chromium to type into."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable

from tests.integration.desktop.typing_matrix.target import Target

# As an editor, it takes the Tab key as text.
PAGE = """<!doctype html><title>a page</title><textarea id=t style="width:95vw;height:90vh" autofocus></textarea><script>
addEventListener("focus", () => navigator.sendBeacon("/", "ready"), {once: true})
addEventListener("keydown", e => {
    if (e.key == "F9") { navigator.sendBeacon("/", t.value); t.value = "" }
    if (e.key == "Tab") { e.preventDefault(); t.setRangeText("\\t", t.selectionStart, t.selectionEnd, "end") }
})
if (document.hasFocus()) dispatchEvent(new Event("focus"))
</script>"""


class ChromiumTarget(Target):
    """A ``<textarea>`` that sends its value to a server of ours."""

    name = "chromium"
    programs = ("chromium",)
    server: http.server.ThreadingHTTPServer | None = None

    def start(self) -> None:
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _page_server(self.given.put))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        profile = f"--user-data-dir={self.screen.folder / 'profile'}"
        address = f"--app=http://127.0.0.1:{self.server.server_port}/"
        self.screen.start(["chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", profile, address])
        assert self.given.get(timeout=60) == "ready"

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()


def _page_server(put: Callable[[str], None]) -> type[http.server.BaseHTTPRequestHandler]:
    class Server(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(PAGE.encode())

        def do_POST(self) -> None:
            put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Server
