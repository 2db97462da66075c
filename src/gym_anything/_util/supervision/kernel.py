"""The two process attributes that Python has no call for."""

from __future__ import annotations

import ctypes
import os

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send us a signal when the *thread* that forked us ends; survives exec, not fork."""
    _prctl(_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}): {os.strerror(ctypes.get_errno())}")
