"""Where our C programs lie, built from exactly the sources that this version ships."""

from __future__ import annotations

from pathlib import Path


def native_program(name: str) -> Path:
    """Return the path of a built program (``ga-guest``, ``ga-desktop``) made from this version's sources.

    Raises: NativeProgramMissing, with the command that builds it.
    """
    raise NotImplementedError
