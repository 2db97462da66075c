"""The tablet: exact places, ordered presses and releases, rest between clicks, and an error when nothing arrives."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Buttons, Click, Drag, InputOp, Move, Scroll
from gym_anything.errors import InputDeliveryUnknown
from gym_anything.runtime.qemu.fast_keyboard import PointerState
from gym_anything.runtime.qemu.qmp_pointer import DEBOUNCE_S, SCALE, QmpPointer, drag_path, place
from tests.unit.runtime.qemu.qemu_monitor import monitor

pytestmark = pytest.mark.unit
SIZE = (1280, 800)
BITS = {"left": 1, "middle": 2, "right": 4}


class Tablet:
    """A machine's tablet as the guest sees it; notes when what was pressed."""

    def __init__(self, dead: bool = False) -> None:
        self.state = PointerState(0, 0, 0)
        self.dead = dead
        self.history: list[tuple[str, float]] = []

    def told(self, name: str, arguments: dict[str, Any]) -> None:
        for event in () if self.dead else arguments["events"]:
            data = event["data"]
            if event["type"] == "abs":
                axis = {data["axis"]: data["value"]}
                self.state = PointerState(axis.get("x", self.state.x), axis.get("y", self.state.y), self.state.buttons)
            else:
                self.history.append((f"{'+' if data['down'] else '-'}{data['button']}", time.monotonic()))
                bit = BITS.get(data["button"], 0)
                held = self.state.buttons | bit if data["down"] else self.state.buttons & ~bit
                self.state = PointerState(self.state.x, self.state.y, held)

    def pixel(self) -> tuple[int, int]:
        return self.state.x * SIZE[0] // SCALE, self.state.y * SIZE[1] // SCALE

    def pointer(self, deadline: Deadline | None = None) -> PointerState:
        return self.state


def play(*ops: InputOp, tablet: Tablet | None = None, limit_s: float = 5) -> tuple[Tablet, list[tuple[int, int]]]:
    """Do the ops; return the tablet, and where it was rested."""
    tablet = tablet or Tablet()
    rests: list[tuple[int, int]] = []
    with monitor() as (qmp, asked):
        asked.told = tablet.told
        pointer = QmpPointer(qmp, tablet, lambda: SIZE, lambda: rests.append(tablet.pixel()), lambda: None)
        for op in ops:
            pointer.do(op, Deadline.after(limit_s))
        pointer.release(Deadline.after(limit_s))
    return tablet, rests


@given(st.integers(1, 8192).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size))))
def test_every_pixel_has_a_place_that_is_that_pixel(case: tuple[int, int]) -> None:
    pixel, pixels = case
    assert 0 <= place(pixel, pixels) < SCALE
    assert place(pixel, pixels) * pixels // SCALE == pixel


def test_a_double_click_presses_twice_with_a_rest_that_no_contact_needs() -> None:
    """A press within 30 ms of the release is taken for a worn contact by some systems."""
    tablet, _ = play(Click("left", 640, 400, 2))
    assert [what for what, _ in tablet.history] == ["+left", "-left", "+left", "-left"]
    assert tablet.history[2][1] - tablet.history[1][1] >= DEBOUNCE_S
    assert (tablet.state.x * SIZE[0] // SCALE, tablet.state.y * SIZE[1] // SCALE) == (640, 400)


def test_buttons_are_pressed_once_and_released_at_the_end() -> None:
    down: Buttons = Buttons((("right", True), ("right", True)))
    assert [what for what, _ in play(down)[0].history] == ["+right", "-right"]


def test_a_wheel_is_turned_click_by_click_and_the_pointer_stays_in_its_pixel() -> None:
    tablet, _ = play(Move(100, 100), Scroll(0, -3))
    assert [what for what, _ in tablet.history] == ["+wheel-up", "-wheel-up"] * 3
    assert (tablet.state.x * SIZE[0] // SCALE, tablet.state.y * SIZE[1] // SCALE) == (100, 100)


def test_a_drag_holds_the_button_all_the_way_and_rests_where_it_takes_hold_and_falls() -> None:
    tablet, rests = play(Drag("left", (100, 100), (500, 300)))
    assert [what for what, _ in tablet.history] == ["+left", "-left"]
    assert rests[0] == (100, 100) and rests[-1] == (500, 300) and len(rests) == 4


def test_a_drags_path_never_goes_back_and_rests_a_pixel_before_its_end() -> None:
    path = list(drag_path((0, 0), (30, 0)))
    assert path[-1] == (30, 0, True) and path[-2] == (29, 0, True)
    assert path == sorted(path, key=lambda step: step[:2]) and {y for _, y, _ in path} == {0}
    assert list(drag_path((5, 5), (5, 5)))[-1] == (5, 5, True)


def test_an_event_that_does_not_arrive_is_an_error() -> None:
    """Never report an input as done that was not."""
    with pytest.raises(InputDeliveryUnknown, match="tablet"):
        play(Click("left", 10, 10), tablet=Tablet(dead=True), limit_s=0.2)
