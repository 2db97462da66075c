"""Serves the viewer on loopback until it is told to stop."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn

from gym_anything._util import env_vars
from gym_anything._util.ports import bind_loopback, port_of
from gym_anything.dashboard.app import make_app
from gym_anything.dashboard.door import Door
from gym_anything.errors import SettingInvalid

SHORTEST_TOKEN = 16
TOKEN = env_vars.declare(
    "GYM_ANYTHING_VIEW_TOKEN",
    str,
    "",
    "Token of the viewer's address, 16 letters, digits, - or _ at least, so that links outlive it; default: a new one "
    "each time.",
    "gym_anything.dashboard",
    secret=True,
)
_END_S = 1


class ViewServer:
    """The viewer, listening on 127.0.0.1 from the start; ``serve`` answers.

    Attributes:
        url: the address with the token; whoever has it may read the experiments.
        port: where it listens.
    """

    def __init__(self, experiments: Mapping[str, Path], *, port: int = 0, token: str | None = None) -> None:
        """Take the port.

        Args: port: 0 is any free one. token: default: ``GYM_ANYTHING_VIEW_TOKEN``, or a new one.
        Raises: HostError when the port is taken; SettingInvalid for a token that can be guessed.
        """
        token = token or TOKEN.get() or secrets.token_urlsafe(24)
        if len(token) < SHORTEST_TOKEN or not all(c.isascii() and (c.isalnum() or c in "-_") for c in token):
            raise SettingInvalid(
                f"the viewer's token must have {SHORTEST_TOKEN} or more letters, digits, - or _",
                detail={"setting": TOKEN.name},
            )
        self._socket = bind_loopback(port, listen=True)
        self.port = port_of(self._socket)
        self.url = f"http://127.0.0.1:{self.port}/?token={token}"
        config = uvicorn.Config(
            Door(make_app(experiments), token, f"ga_view_{self.port}"),
            access_log=False,  # addresses hold the token
            log_level="warning",
            server_header=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            timeout_graceful_shutdown=_END_S,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    def serve(self) -> None:
        """Answer until Ctrl-C or SIGTERM. Raises: KeyboardInterrupt after Ctrl-C, when everything is closed."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def __enter__(self) -> Self:
        """Answer in a thread of its own meanwhile."""
        self._thread = threading.Thread(target=self.serve, name="viewer", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
