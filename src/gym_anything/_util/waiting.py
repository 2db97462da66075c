"""Waiting for a condition: no sleep without one, no time-out without a diagnosis."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from gym_anything._util.deadline import Deadline, expired_error
from gym_anything.errors import Aborted

T = TypeVar("T")

_FIRST_INTERVAL_S = 0.0005
_GROWTH = 1.5


def wait_until(
    condition: Callable[[], T],
    *,
    deadline: Deadline,
    awaited: str,
    poll_s: float = 0.05,
    status: Callable[[], str] = lambda: "",
    log_tail: Callable[[], str] = lambda: "",
    aborted: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], object] = time.sleep,
) -> T:
    """Ask ``condition`` until its answer is true, and return that answer.

    The condition is asked at once, then after 0.5 ms, then in growing intervals up to ``poll_s``, and a last time when
    the deadline has passed, so that a machine that was busy does not fail what is true.

    Args:
        condition: cheap and free of side effects; what it raises passes through.
        deadline: when to give up.
        awaited: what is awaited, for the diagnosis ("the window manager of world w3").
        poll_s: the longest interval, seconds.
        status: called once on failure: the last status in words.
        log_tail: called once on failure: the end of the log that tells why.
        aborted: asked before every pause; a true answer ends the wait.
        sleep: what pauses; a test gives its own.
    Raises: DeadlineExceeded with the diagnosis; Aborted.
    """
    interval = min(_FIRST_INTERVAL_S, poll_s)
    while True:
        late = deadline.expired()
        answer = condition()
        if answer:
            return answer
        if aborted():
            raise Aborted(f"aborted while waiting for {awaited}")
        if late:
            raise expired_error(awaited, last_status=status(), log_tail=log_tail())
        sleep(min(interval, deadline.remaining()))
        interval = min(interval * _GROWTH, poll_s)
