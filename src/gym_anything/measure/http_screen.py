"""The client of the screen behind HTTP, and the process that answers it."""

from __future__ import annotations

import io
import json
import sys
import urllib.request
from types import TracebackType
from typing import Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError
from gym_anything.measure.desktop_rig import Rig
from gym_anything.measure.http_screen_program import ADDRESS

_PROGRAM = "gym_anything.measure.http_screen_program"
_START_S, _ANSWER_S = 30.0, 20.0


class HttpScreen:
    """A screen seen as PNG over HTTP. A context manager; its end stops the server."""

    def __init__(self, rig: Rig) -> None:
        """Start the server. Raises: HostError when it ends at once, DeadlineExceeded."""
        address, log = rig.folder / ADDRESS, rig.folder / "http-screen.log"
        argv = [sys.executable, "-m", _PROGRAM, str(rig.folder)]
        self._process = rig.screen.spawn(argv, "the screen behind HTTP", log, rig.library_env)
        try:
            wait_until(
                lambda: address.is_file() or self._process.poll() is not None,
                deadline=Deadline.after(_START_S),
                awaited="the screen behind HTTP",
                poll_s=0.005,
                log_tail=lambda: logs.tail(log, 5),
            )
            if not address.is_file():
                raise HostError(f"the screen behind HTTP ended with {self._process.returncode}: {logs.tail(log, 5)}")
            port, token = address.read_text(encoding="ascii").split()
        except BaseException:
            self.close()
            raise
        self._url, self._headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {token}"}
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # loopback knows no proxy

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def picture(self) -> Any:
        """Return the screen as a PIL image, decoded. Raises: OSError."""
        from PIL import Image

        with Image.open(io.BytesIO(self._ask("/screenshot", None))) as image:
            image.load()
            return image

    def click(self, x: int, y: int) -> None:
        """Move and click. Raises: OSError."""
        self._ask("/click", json.dumps({"x": x, "y": y}).encode())

    def close(self) -> None:
        """Stop the server; idempotent."""
        self._process.stop()

    def __enter__(self) -> HttpScreen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _ask(self, path: str, body: bytes | None) -> bytes:
        request = urllib.request.Request(self._url + path, body, self._headers)
        with self._open(request, timeout=_ANSWER_S) as answer:
            data: bytes = answer.read()
            return data
