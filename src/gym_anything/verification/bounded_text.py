"""Output of unknown length kept within a bound: its beginning and its end."""

from __future__ import annotations

_HEAD_BYTES = 128 * 1024
_TAIL_BYTES = 128 * 1024


class BoundedText:
    """Takes bytes in, gives text out; of more than 256 KiB the middle is left out and the text says how much."""

    def __init__(self, head_bytes: int = _HEAD_BYTES, tail_bytes: int = _TAIL_BYTES) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_bytes, self._tail_bytes = head_bytes, tail_bytes
        self._left_out = 0

    def add(self, data: bytes) -> None:
        """Append."""
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        excess = len(self._tail) - self._tail_bytes
        if excess > 0:
            del self._tail[:excess]
            self._left_out += excess

    def text(self) -> str:
        """Return all of it, or beginning and end."""
        middle = f"\n… {self._left_out} bytes left out …\n".encode() if self._left_out else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")
