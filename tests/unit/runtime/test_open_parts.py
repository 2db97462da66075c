"""Connections of a world that one thread brings up and another ends."""

from __future__ import annotations

import pytest

from gym_anything.errors import Aborted
from gym_anything.runtime.open_parts import OpenParts

pytestmark = pytest.mark.unit


class Part:
    """Counts what is done to it."""

    def __init__(self) -> None:
        self.aborted = self.closed = 0

    def abort(self) -> None:
        """See ``OpenPart``."""
        self.aborted += 1

    def close(self) -> None:
        """See ``OpenPart``."""
        self.closed += 1


def test_what_is_kept_is_aborted_and_closed_once() -> None:
    parts, one = OpenParts(), Part()
    assert parts.keep(one) is one
    parts.abort()
    assert (one.aborted, one.closed) == (1, 0)
    parts.close()
    parts.end()
    assert one.closed == 1


def test_others_may_come_after_close() -> None:
    parts, later = OpenParts(), Part()
    parts.close()
    parts.keep(later)
    parts.end()
    assert later.closed == 1


def test_what_comes_after_the_end_is_closed_at_once() -> None:
    """L1: a connection made while another thread stopped the world stays open otherwise."""
    parts, late = OpenParts(), Part()
    parts.end()
    with pytest.raises(Aborted):
        parts.keep(late)
    assert late.closed == 1
