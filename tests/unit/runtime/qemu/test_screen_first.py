"""Eyes at once, hands a moment later: who looks does not wait, who acts does, and an end waits for what is opened."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, DeadlineExceeded, StateError, WorldStartFailed
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.desktop import InputAck
from gym_anything.runtime.qemu.screen_first import ScreenFirst

pytestmark = pytest.mark.unit


class Screen:
    def picture(self, deadline: Deadline) -> tuple[RgbArray, float]:
        return np.zeros((4, 6, 3), np.uint8), time.monotonic()


class Hands:
    """A desktop whose hands are there once ``ready`` is set."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.closed = False

    def connect(self) -> Any:
        assert self.ready.wait(10)
        return self

    def send(self, ops: Any, *, deadline: Deadline) -> InputAck:
        return InputAck(7, (1, 2))

    def pointer(self, *, deadline: Deadline) -> tuple[int, int]:
        return 1, 2

    def check_life(self, *, deadline: Deadline) -> None:
        raise DeadlineExceeded("the desktop service does not answer")

    def abort(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True


def test_a_sign_of_life_is_asked_of_hands_that_are_there_and_waits_for_no_others() -> None:
    hands = Hands()
    desktop = ScreenFirst(Screen(), hands.connect)
    desktop.check_life(deadline=Deadline.after(5))
    desktop.begin()
    desktop.check_life(deadline=Deadline.after(5))
    hands.ready.set()
    desktop.hands(Deadline.after(5))
    with pytest.raises(DeadlineExceeded, match="desktop service"):
        desktop.check_life(deadline=Deadline.after(5))
    desktop.close()


def test_pictures_do_not_wait_for_the_hands_and_input_does() -> None:
    hands = Hands()
    desktop = ScreenFirst(Screen(), hands.connect)
    assert desktop.size == (6, 4)
    first = desktop.frame()
    assert (first.after_input, first.array.shape) == (0, (4, 6, 3))
    with pytest.raises(DeadlineExceeded, match="hands"):
        desktop.pointer(deadline=Deadline.after(0.01))
    hands.ready.set()
    assert desktop.send([]).number == 7
    second = desktop.frame()
    assert second.after_input == 7
    assert second.seq > first.seq
    desktop.close()
    assert hands.closed


def test_hands_that_cannot_be_had_are_an_error_of_who_needs_them() -> None:
    def connect() -> Any:
        raise WorldStartFailed("the keyboard does not work")

    desktop = ScreenFirst(Screen(), connect)
    desktop.frame()
    for _ in range(2):
        with pytest.raises(WorldStartFailed, match="keyboard"):
            desktop.send([])
    desktop.close()


def test_what_need_not_delay_the_first_look_is_done_after_it_and_once() -> None:
    done: list[int] = []
    hands = Hands()
    desktop = ScreenFirst(Screen(), hands.connect)
    desktop.after_first_frame(lambda: done.append(1))
    assert done == []
    desktop.frame()
    desktop.frame()
    assert done == [1]
    desktop.close()


def test_an_end_waits_for_the_connection_that_is_being_made_and_closes_it() -> None:
    hands = Hands()
    desktop = ScreenFirst(Screen(), hands.connect)
    desktop.begin()
    closing = threading.Thread(target=desktop.close)
    closing.start()
    hands.ready.set()
    closing.join(10)
    assert hands.closed
    with pytest.raises(StateError):
        desktop.frame()


def test_after_an_abort_everything_is_aborted() -> None:
    hands = Hands()
    hands.ready.set()
    desktop = ScreenFirst(Screen(), hands.connect)
    desktop.pointer()
    desktop.abort()
    assert hands.closed
    with pytest.raises(Aborted):
        desktop.frame()
    with pytest.raises(Aborted):
        desktop.pointer()
    desktop.close()
