"""Keeping a program of the session running: a window manager or panel that dies comes back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_RESPAWN = 'n=0; while [ "$n" -lt 20 ]; do "$@"; n=$((n+1)); sleep 0.5; done'


def kept_up(argv: Sequence[str]) -> list[str]:
    """Return the command line that keeps a program up: twenty lives, half a second apart."""
    return ["/bin/sh", "-c", _RESPAWN, "keep", *argv]
