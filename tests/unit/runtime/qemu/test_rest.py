"""A machine is saved once it rests."""

from __future__ import annotations

import pytest

from gym_anything._util import proc
from gym_anything.runtime.qemu.rest import CALM_WINDOWS, LONGEST_S, WINDOW_S, await_rest

pytestmark = pytest.mark.unit


class Machine:
    """Uses so much of a processor as ``share`` says of a moment; its time passes only while it is waited for."""

    def __init__(self, busy_until: float) -> None:
        self.at, self.used, self.busy_until = 100.0, 0.0, 100.0 + busy_until

    def ticks(self, pid: int) -> int:
        return int(self.used)

    def sleep(self, seconds: float) -> None:
        self.used += seconds * proc.CLOCK_TICKS_PER_S * (0.8 if self.at < self.busy_until else 0.02)
        self.at += seconds


def rested(machine: Machine) -> bool:
    return await_rest(1, ticks=machine.ticks, now=lambda: machine.at, sleep=machine.sleep)


def test_a_calm_machine_is_watched_for_three_seconds() -> None:
    machine = Machine(busy_until=0)
    assert rested(machine)
    assert machine.at - 100 == pytest.approx(CALM_WINDOWS * WINDOW_S, abs=1)


def test_work_begins_the_watch_again() -> None:
    machine = Machine(busy_until=7)
    assert rested(machine)
    assert machine.at - 107 == pytest.approx(CALM_WINDOWS * WINDOW_S, abs=1.5)


def test_one_that_never_rests_is_not_waited_for_without_end() -> None:
    machine = Machine(busy_until=1000)
    assert not rested(machine)
    assert machine.at - 100 == pytest.approx(LONGEST_S, abs=1)
