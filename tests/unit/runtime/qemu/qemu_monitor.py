"""The other end of a monitor, for tests: says yes to everything and remembers it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.qemu.qmp import QmpClient
from tests.unit.runtime.qemu.test_qmp_protocol import GREETING, line


class Monitor:
    """What was asked. ``told`` is called with each command before it is answered."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.told: Callable[[str, dict[str, Any]], object] = lambda name, arguments: None

    def serve(self, sock: socket.socket) -> None:
        sock.sendall(GREETING)
        with sock.makefile("rb") as lines:
            for text in lines:
                message = json.loads(text)
                name, arguments = message["execute"], message.get("arguments", {})
                if name != "qmp_capabilities":
                    self.asked.append((name, arguments))
                    self.told(name, arguments)
                sock.sendall(line(**{"return": {}, "id": message["id"]}))

    def events(self) -> list[list[dict[str, Any]]]:
        """Return the events of each ``input-send-event``."""
        return [arguments["events"] for name, arguments in self.asked if name == "input-send-event"]


@contextmanager
def monitor() -> Iterator[tuple[QmpClient, Monitor]]:
    """Yield a client and the monitor at its other end."""
    ours, theirs = socket.socketpair()
    known, client = Monitor(), QmpClient(ours)
    thread = threading.Thread(target=known.serve, args=(theirs,))
    thread.start()
    try:
        client.open(Deadline.after(5))
        yield client, known
    finally:
        client.close()
        thread.join()
        theirs.close()
