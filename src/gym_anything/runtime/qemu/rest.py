"""A machine that comes to rest before it is saved: every copy would do once more what it was about to do just then.

What a guest has put off for some seconds at the end of its boot takes half of the processor time that a copy needs
until it answers. And a panel that looks for half a minute, twice a second, whether windows are composited, has every
copy take six times as much of a processor at rest: a hundred of them would take both of a small host.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gym_anything._util import env_vars, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded

WINDOW_S = 3.0


@dataclass(frozen=True, slots=True)
class Rest:
    """At rest is what took no more than ``share`` of a processor for ``WINDOW_S``, after ``least_s``.

    One that never rests, or whose host is busy, is saved as it is after ``longest_s``.
    """

    share: float
    longest_s: float
    least_s: float = 0.0


CALM = Rest(0.05, 20.0)
"""Of what somebody saves on his way."""
LEAST_S = env_vars.declare(
    "GYM_ANYTHING_QEMU_TEMPLATE_REST_S",
    env_vars.not_negative,
    30.0,
    "Seconds that a machine is left alone, once for an image, before it is saved for all others to be copied from. "
    "Default 30: so long its panel looks for a compositor, and each copy would go on doing so.",
    "gym_anything.runtime.qemu.rest",
)


def still() -> Rest:
    """Return what is asked of the machine that all are made from, where half a minute is well spent.

    An emulated desktop that is still takes 0.002 of a processor, and 0.004 while its panel looks: the quicker the host,
    the less they differ, so the panel's half minute, which began a little before, is waited for in any case.
    """
    least_s = LEAST_S.get()
    return Rest(0.007, least_s + 15.0, least_s)


def await_rest(
    pid: int,
    rest: Rest,
    *,
    used_s: Callable[[int], float] = lambda pid: sum(map(proc.cpu_s, (pid, *proc.descendants(pid)))),
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """Wait until a machine rests; return whether it does. Blocks: three seconds at least.

    Args: pid: of QEMU, or of what it is a child of. The others are a test's: processor time, clock, pause.
    """
    first = began = now()
    used = used_s(pid)

    def rests() -> bool:
        nonlocal began, used
        if now() - began < WINDOW_S:
            return False
        seconds, last = now() - began, used
        began, used = now(), used_s(pid)
        return began - first >= rest.least_s and used - last <= rest.share * seconds

    deadline = Deadline(now() + rest.longest_s, now=now)
    try:
        return wait_until(rests, deadline=deadline, awaited="a machine's rest", poll_s=0.1, sleep=sleep)
    except DeadlineExceeded:
        return False
