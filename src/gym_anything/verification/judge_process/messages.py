"""Messages between the owner of an episode and its verifier: a length, then JSON, over a stream socket."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_HEADER = struct.Struct(">I")
MAX_MESSAGE_BYTES = 256 * 1024 * 1024


class PeerGone(Exception):
    """The other side closed the connection."""


def send_message(sock: socket.socket, message: dict[str, Any]) -> None:
    """Send one message. Raises: PeerGone, TimeoutError (when the socket has a time-out), ValueError (too large)."""
    body = json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    if len(body) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(body)} bytes is over the limit of {MAX_MESSAGE_BYTES}")
    try:
        sock.sendall(_HEADER.pack(len(body)) + body)
    except TimeoutError:
        raise
    except OSError as error:
        raise PeerGone(str(error)) from error


def receive_message(sock: socket.socket) -> dict[str, Any]:
    """Receive one message. Raises: PeerGone, TimeoutError (when the socket has a time-out), ValueError (not ours)."""
    (length,) = _HEADER.unpack(_receive_exactly(sock, _HEADER.size))
    if length > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {length} bytes is over the limit of {MAX_MESSAGE_BYTES}")
    message = json.loads(_receive_exactly(sock, length).decode("utf-8", "surrogatepass"))
    if not isinstance(message, dict):
        raise ValueError("a message must be an object")
    return message


def _receive_exactly(sock: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        try:
            part = sock.recv(min(1 << 20, count - len(parts)))
        except TimeoutError:
            raise
        except OSError as error:
            raise PeerGone(str(error)) from error
        if not part:
            raise PeerGone("connection closed")
        parts += part
    return bytes(parts)
