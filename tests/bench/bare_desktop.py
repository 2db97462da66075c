"""The bare mechanism of frames, clicks and following (``bare_desktop.c``) on a screen, as something to measure against."""

from __future__ import annotations

import socket
import struct
import subprocess
from pathlib import Path

from tests.integration.desktop.screen import Screen

PIXELS = Path(__file__).parents[2] / "native" / "ga-desktop"
_LIBRARIES = ("-lxcb", "-lxcb-shm", "-lxcb-damage", "-lxcb-xtest")


class BareDesktop:
    """One such program and our end of its socket. It ends with its screen."""

    def __init__(self, screen: Screen, folder: Path) -> None:
        program = folder / "bare_desktop"
        sources = [
            Path(__file__).with_suffix(".c"),
            *(PIXELS / f"{name}.c" for name in ("pixels", "pixels_vector", "box")),
        ]
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", f"-I{PIXELS}", "-o", program, *sources, *_LIBRARIES], check=True)
        self._ours, theirs = socket.socketpair()
        self._ours.settimeout(20)
        self.process = screen.start([program], stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()

    def ask(self, command: str, x: int = 0, y: int = 0) -> int:
        """Have a command done and return its answer."""
        self._ours.sendall(struct.pack("=cxHH", command.encode(), x, y))
        return self._ours.recv(1)[0]
