"""A machine is saved once it rests."""

from __future__ import annotations

import pytest

from gym_anything.runtime.qemu.rest import CALM, LEAST_S, WINDOW_S, Rest, await_rest, still

pytestmark = pytest.mark.unit


class Machine:
    """Uses ``share`` of a processor until a moment, then nearly nothing; its time passes only while it is waited for."""

    def __init__(self, busy_until: float, share: float = 0.8) -> None:
        self.at, self.used, self.busy_until, self.share = 100.0, 0.0, 100.0 + busy_until, share

    def used_s(self, pid: int) -> float:
        return self.used

    def sleep(self, seconds: float) -> None:
        self.used += seconds * (self.share if self.at < self.busy_until else 0.003)
        self.at += seconds


@pytest.fixture(autouse=True)
def as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEAST_S.name, raising=False)


def rested(machine: Machine, rest: Rest | None = None) -> bool:
    rest = rest or still()
    return await_rest(1, rest, used_s=machine.used_s, now=lambda: machine.at, sleep=machine.sleep)


def test_a_calm_machine_is_watched_for_three_seconds() -> None:
    machine = Machine(busy_until=0)
    assert rested(machine, CALM)
    assert machine.at - 100 == pytest.approx(WINDOW_S, abs=0.2)


@pytest.mark.parametrize("share", [0.8, 0.016, 0.004])
def test_work_is_waited_for_be_it_as_little_as_a_poll_twice_a_second(share: float) -> None:
    machine = Machine(busy_until=30, share=share)
    assert rested(machine), "for as long as a panel looks, even if a quick host makes next to nothing of it"
    assert 130 <= machine.at <= 130 + 2 * WINDOW_S + 0.5


def test_what_is_saved_on_the_way_need_only_be_calm() -> None:
    machine = Machine(busy_until=30, share=0.016)
    assert rested(machine, CALM)
    assert machine.at - 100 == pytest.approx(WINDOW_S, abs=0.2)


def test_one_that_never_rests_is_not_waited_for_without_end() -> None:
    machine = Machine(busy_until=1000)
    assert not rested(machine)
    assert machine.at - 100 == pytest.approx(still().longest_s, abs=1)
