"""Short names: made of letters and digits that are safe in a path, a label, a host name and an environment variable."""

from __future__ import annotations

import hashlib
import os

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # 32 letters, without l, o, 0 and 1, which people misread


def random_name(prefix: str, length: int) -> str:
    """Return ``prefix`` and ``length`` random letters (5 bits each), from the kernel and so distinct after a fork."""
    return prefix + "".join(_ALPHABET[byte & 31] for byte in os.urandom(length))


def name_of(data: bytes, length: int) -> str:
    """Return the same ``length`` letters for the same data, at most 32 (5 bits each)."""
    return "".join(_ALPHABET[byte & 31] for byte in hashlib.sha256(data).digest()[:length])


def is_short_name(text: str) -> bool:
    """Tell whether ``text`` is 1 to 32 ASCII letters and digits."""
    return 0 < len(text) <= 32 and text.isascii() and text.isalnum()
