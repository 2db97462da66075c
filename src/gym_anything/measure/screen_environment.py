"""What libraries in this process, and programs, read from the environment to reach a screen."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from types import TracebackType

_FAMILY_LOCAL, _FAMILY_WILD = 256, 0xFFFF
_COOKIE_NAME = b"MIT-MAGIC-COOKIE-1"


class ScreenEnvironment:
    """Variables of this process, for libraries that read them; given back at the end."""

    def __init__(self, values: dict[str, str]) -> None:
        """Args: values: what to set."""
        self._values = values
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> ScreenEnvironment:
        self._before = {name: os.environ.get(name) for name in self._values}
        os.environ.update(self._values)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def environment_for(env: dict[str, str], cookie: bytes, folder: Path) -> dict[str, str]:
    """Return what libraries read that are not content with the screen's own variables.

    python3-xlib knows no wildcard in an authority file; pyscreeze wants to be told that this is X11.
    """
    path = folder / "cookie-by-host"
    number = env["DISPLAY"].removeprefix(":").encode()
    own_host = _entry(_FAMILY_LOCAL, socket.gethostname().encode(), number, cookie)
    path.write_bytes(own_host + _entry(_FAMILY_WILD, b"", b"", cookie))
    path.chmod(0o600)
    return {**env, "XAUTHORITY": str(path), "XDG_SESSION_TYPE": "x11"}


def _entry(family: int, address: bytes, number: bytes, cookie: bytes) -> bytes:
    fields = (address, number, _COOKIE_NAME, cookie)
    return struct.pack(">H", family) + b"".join(struct.pack(">H", len(field)) + field for field in fields)
