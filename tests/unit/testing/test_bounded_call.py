"""What the conformance suite says of a call that hangs."""

from __future__ import annotations

import threading

import pytest

from gym_anything.testing.conformance.bounded_call import BoundedCall

pytestmark = pytest.mark.unit


def test_a_call_that_hangs_says_where() -> None:
    over = threading.Event()

    def hangs_here() -> None:
        over.wait()

    call = BoundedCall(hangs_here, "start")
    try:
        with pytest.raises(AssertionError, match=r"start did not end within 0\.05 s; it is at:(.|\n)*hangs_here"):
            call.result(0.05)
    finally:
        over.set()
    assert call.wait(10)
