"""What a machine writes to its serial console, kept and bounded: two files of one size, the newer and the older."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from pathlib import Path

from gym_anything._util import logs

MAX_FILE_BYTES = 1 << 20
_RECEIVE_BYTES = 1 << 16
_JOIN_S = 2.0


class ConsoleLog:
    """Reads a console until it ends. The newest ``MAX_FILE_BYTES`` at least are in its files, twice as much at most."""

    def __init__(self, source: socket.socket, path: Path, *, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        """Take ``source`` over and write to ``path``, and what is older to ``path`` + ``.1``."""
        self._source = source
        self._path = path
        self._limit = max_file_bytes
        self._older = path.with_name(f"{path.name}.1")
        self._fd = self._open()
        self._written = 0
        self._thread = threading.Thread(target=self._read, name="qemu-console", daemon=True)
        self._thread.start()

    def tail(self, lines: int = 20) -> str:
        """Return the last lines."""
        text = logs.tail(self._path, lines)
        missing = lines - len(text.splitlines())
        if missing > 0 and self._older.exists():
            text = f"{logs.tail(self._older, missing)}\n{text}"
        return text.strip("\n")

    def close(self) -> None:
        """Stop reading; idempotent."""
        with contextlib.suppress(OSError):  # the other end has gone already
            self._source.shutdown(socket.SHUT_RDWR)
        self._thread.join(_JOIN_S)
        self._source.close()

    def _read(self) -> None:
        try:
            while data := self._source.recv(_RECEIVE_BYTES):
                self._write(data)
        except OSError:
            return  # closed, or the folder has gone: the world is at its end
        finally:
            os.close(self._fd)

    def _write(self, data: bytes) -> None:
        if self._written + len(data) > self._limit:
            os.close(self._fd)
            self._path.replace(self._older)
            self._fd = self._open()
            self._written = 0
        self._written += len(data)
        while data:
            data = data[os.write(self._fd, data) :]

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
