"""An interrupt hits the waiting for a sheltered call, never its middle."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from gym_anything._util.sheltered_call import sheltered

pytestmark = pytest.mark.unit


class Start:
    """A start that makes two things, one after the other, and must own both or none."""

    def __init__(self) -> None:
        self.given_up = threading.Event()
        self.half_made = threading.Event()
        self.owned: list[str] = []

    def run(self) -> str:
        self.half_made.set()
        ended_early = self.given_up.wait(20)
        self.owned.append("thing")
        if ended_early:
            raise RuntimeError("given up")
        return "up"


def press_when(event: threading.Event, times: int = 1) -> threading.Thread:
    """Press Ctrl-C in the main thread once the event is set."""

    def press() -> None:
        event.wait(20)
        for _ in range(times):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def test_the_answer_and_the_error_come_through():
    assert sheltered(lambda: 7, give_up=lambda: None, name="t") == 7
    with pytest.raises(ZeroDivisionError):
        sheltered(lambda: 1 // 0, give_up=lambda: None, name="t")


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_goes_on_after_the_call_has_ended(times):
    start = Start()
    presser = press_when(start.half_made, times)
    with pytest.raises(KeyboardInterrupt):
        try:
            sheltered(start.run, give_up=start.given_up.set, name="t")
        finally:
            presser.join()
    assert start.owned == ["thing"]
    assert [t for t in threading.enumerate() if t.name == "t"] == []


def test_a_call_that_hears_late_is_asked_again():
    asked = []

    def act() -> None:
        while len(asked) < 3:
            time.sleep(0)

    begun = threading.Event()
    presser = press_when(begun)

    def told() -> None:
        begun.set()
        act()

    with pytest.raises(KeyboardInterrupt):
        sheltered(told, give_up=lambda: asked.append(1), name="t")
    presser.join()
    assert len(asked) >= 3


def test_a_handler_of_the_users_own_is_called_after_the_call():
    start, order = Start(), []
    before = signal.signal(signal.SIGINT, lambda number, frame: order.append("handler"))
    presser = press_when(start.half_made)
    try:
        with pytest.raises(RuntimeError, match="given up"):
            sheltered(start.run, give_up=lambda: (order.append("give up"), start.given_up.set()), name="t")
    finally:
        presser.join()
        signal.signal(signal.SIGINT, before)
    assert order[0] == "give up"
    assert order[-1] == "handler"


def test_an_ignored_interrupt_stays_ignored():
    start = Start()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    presser = press_when(start.half_made)
    try:
        threading.Timer(0.2, start.given_up.set).start()
        with pytest.raises(RuntimeError):
            sheltered(start.run, give_up=lambda: pytest.fail("asked to give up"), name="t")
    finally:
        presser.join()
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_the_call_is_made_directly():
    seen = []

    def other() -> None:
        sheltered(lambda: seen.append(threading.current_thread().name), give_up=lambda: None, name="t")

    thread = threading.Thread(target=other, name="other")
    thread.start()
    thread.join()
    assert seen == ["other"]
