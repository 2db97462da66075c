"""What really happened, written down by whoever did it: a file of lines that outlives the process that wrote them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Journal:
    """Events, each a line of JSON. Any number of processes write one; a line is never torn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, event: str, **facts: Any) -> None:
        """Add an event; ``at`` is on the clock that all processes of a host share."""
        os.write(self._file, json.dumps({"event": event, "at": time.monotonic(), **facts}).encode() + b"\n")

    def read(self) -> list[dict[str, Any]]:
        """Return all events so far."""
        return [json.loads(line) for line in self._path.read_bytes().splitlines()]

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)
