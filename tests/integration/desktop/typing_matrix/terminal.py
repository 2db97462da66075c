"""A terminal to type into."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from gym_anything._util.waiting import wait_until
from tests.integration.desktop.screen import soon
from tests.integration.desktop.typing_matrix.target import Target


class XtermTarget(Target):
    """A terminal; F9 arrives as an escape sequence behind the text."""

    name = "xterm"
    programs = ("xterm",)

    def start(self) -> None:
        fifo, ready = self.screen.folder / "xterm.fifo", self.screen.folder / "xterm-ready"
        os.mkfifo(fifo)
        script = f"stty -echo -icanon min 1 -iexten -isig -ixon; touch {ready}; exec cat > {fifo}"
        self.screen.start(["xterm", "-u8", "-geometry", "120x40+0+0", "-e", "sh", "-c", script])
        threading.Thread(target=self._read_keys, args=(fifo,), daemon=True).start()
        wait_until(ready.exists, deadline=soon(), awaited="the terminal")

    def _read_keys(self, fifo: Path) -> None:
        held = b""
        with fifo.open("rb", buffering=0) as keys:
            while new := keys.read(65536):
                *texts, held = (held + new).split(b"\x1b[20~")
                for text in texts:
                    self.given.put(text.decode(errors="replace"))
