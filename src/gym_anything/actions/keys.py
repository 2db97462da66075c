"""The one key table; the signatures (the body follows)."""

from __future__ import annotations


def canonical_key(name: str) -> str:
    """Return the canonical X11 keysym name of a key in any vendor's vocabulary. Raises: ActionError with near matches."""
    raise NotImplementedError


def keys_of(spec: str) -> tuple[str, ...]:
    """Expand a key or chord string ("ctrl+shift+t") to canonical names, in order. Raises: ActionError."""
    raise NotImplementedError


def keysym_of(name: str) -> int:
    """Return the X11 keysym number of a canonical name (any alias is accepted too). Raises: ActionError."""
    raise NotImplementedError


def keysym_for_char(ch: str) -> int:
    """Return the X11 keysym that types one character (control characters of typed text included). Raises: ActionError."""
    raise NotImplementedError


def char_of_keysym(keysym: int) -> str | None:
    """Return the character a keysym types, or None for keys that type none (Shift_L, F1 …)."""
    raise NotImplementedError
