"""A minimal X client of its own process: its window covers the screen and takes another colour at every press.

``python -m gym_anything.measure.reacting_window READY``, with the display and the cookie in the environment; the file
``READY`` appears when the window is drawn.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.desktop.private_screen import socket_of
from gym_anything.runtime.desktop.x_client import COOKIE_BYTES, XClient

_LIFE_S = 3600.0
_FIRST = 0x204060


def main() -> None:
    """React until the end."""
    number = int(os.environ["DISPLAY"].removeprefix(":"))
    cookie = Path(os.environ["XAUTHORITY"]).read_bytes()[-COOKIE_BYTES:]
    with XClient(socket_of(number), cookie, Deadline.after(_LIFE_S)) as window:
        window.show_window(_FIRST)
        Path(sys.argv[1]).touch()
        for count in itertools.count(1):
            window.next_press()
            window.fill((_FIRST + count * 0x010307) & 0xFFFFFF, 0, 0, window.width, window.height)


if __name__ == "__main__":
    main()
