"""A machine that comes to rest before it is saved: every copy would do once more what it was about to do just then.

What a guest has put off for some seconds at the end of its boot takes half of the processor time that a copy needs
until it answers. And a panel that looks for half a minute, twice a second, whether windows are composited, has every
copy take six times as much of a processor at rest: a hundred of them would take both of a small host.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded

WINDOW_S = 3.0


@dataclass(frozen=True, slots=True)
class Rest:
    """At rest is what took no more than ``share`` of a processor for ``WINDOW_S``.

    One that never rests, or whose host is busy, is saved as it is after ``longest_s``.
    """

    share: float
    longest_s: float


CALM, STILL = Rest(0.05, 20.0), Rest(0.007, 45.0)
"""Of what somebody saves on his way; of the machine that all are made from, where half a minute is well spent. An
emulated desktop that is still takes 0.003 of a processor."""


def await_rest(
    pid: int,
    rest: Rest,
    *,
    ticks: Callable[[int], int] = lambda pid: sum(map(proc.cpu_ticks, (pid, *proc.descendants(pid)))),
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """Wait until a machine rests; return whether it does. Blocks: three seconds at least.

    Args: pid: of QEMU, or of what it is a child of. The others are a test's: ticks of processor time, clock, pause.
    """
    began, used = now(), ticks(pid)

    def rests() -> bool:
        nonlocal began, used
        if now() - began < WINDOW_S:
            return False
        seconds, last = now() - began, used
        began, used = now(), ticks(pid)
        return (used - last) / proc.CLOCK_TICKS_PER_S <= rest.share * seconds

    deadline = Deadline(now() + rest.longest_s, now=now)
    try:
        return wait_until(rests, deadline=deadline, awaited="a machine's rest", poll_s=0.1, sleep=sleep)
    except DeadlineExceeded:
        return False
