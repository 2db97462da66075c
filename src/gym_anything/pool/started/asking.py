"""Asking a started pool one thing after another, without an event loop: for the command line."""

from __future__ import annotations

import os
import socket
from types import TracebackType
from typing import Any, Self

from gym_anything.errors import DeadlineExceeded, Unreachable, from_wire
from gym_anything.pool.started import wire
from gym_anything.pool.started.folder import PoolEntry

ANSWER_S = 10.0


class Asking:
    """A connection to a pool. Use it in a with statement; one thread at a time."""

    def __init__(self, entry: PoolEntry, answer_s: float = ANSWER_S) -> None:
        """Connect. Args: answer_s: how long each answer may take.

        Raises: Unreachable (it has just ended), Unauthorized, VersionSkew, StateError.
        """
        self._entry, self._number = entry, 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(answer_s)
        try:
            self._socket.connect(os.fspath(entry.socket))
            self._exchange({"token": entry.token, "version": wire.VERSION})
        except BaseException as error:
            self._socket.close()
            if isinstance(error, OSError) and not isinstance(error, Unreachable | DeadlineExceeded):
                raise Unreachable(f"pool {entry.name} does not answer: {error}") from error
            raise

    def ask(self, what: str, **arguments: Any) -> Any:
        """Ask and return the answer. Raises: what the pool says, Unreachable, DeadlineExceeded."""
        self._number += 1
        return self._exchange({"id": self._number, "ask": what, **arguments})

    def close(self) -> None:
        """Hang up. Idempotent."""
        self._socket.close()

    def _exchange(self, message: dict[str, Any]) -> Any:
        try:
            self._socket.sendall(wire.encode(message))
            answer = wire.receive(self._socket)
        except TimeoutError as error:
            limit = self._socket.gettimeout()
            raise DeadlineExceeded(f"pool {self._entry.name} did not answer within {limit:g} s") from error
        except ConnectionError as error:
            raise Unreachable(f"pool {self._entry.name} has hung up") from error
        if "error" in answer:
            raise from_wire(answer["error"])
        return answer["value"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def ask(entry: PoolEntry, what: str, **arguments: Any) -> Any:
    """Ask a pool one thing. Raises: as ``Asking``."""
    with Asking(entry) as asking:
        return asking.ask(what, **arguments)
