"""Mouse and keyboard from outside: what QEMU is told, in order, and what is refused before it is told anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Buttons, Click, Drag, InputOp, Move, PressKeys, Scroll, TypeText
from gym_anything.errors import ActionUnsupported
from gym_anything.runtime.qemu.blind_hands import USB_KEY_MS, BlindHands
from gym_anything.runtime.qemu.qmp import QmpClient

pytestmark = pytest.mark.unit


class Monitor:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def execute(self, command: str, arguments: Mapping[str, Any], *, deadline: Deadline) -> None:
        if command == "send-key":
            assert arguments["hold-time"] >= USB_KEY_MS
            self.told.append("+".join(key["data"] for key in arguments["keys"]))
            return
        for event in arguments["events"]:
            data = event["data"]
            if event["type"] == "abs":
                self.told.append(f"{data['axis']}={data['value']}")
            else:
                self.told.append(f"{data['button']} {'down' if data['down'] else 'up'}")


def told(*ops: InputOp) -> list[str]:
    monitor = Monitor()
    BlindHands(cast(QmpClient, monitor), lambda: (1000, 500), lambda seconds: None).do(ops, Deadline.after(10))
    return monitor.told


def test_a_double_click_is_a_move_and_two_presses_in_order() -> None:
    assert told(Click("left", 0, 499, 2)) == ["x=16", "y=32735", "left down", "left up", "left down", "left up"]


def test_a_drag_moves_between_one_press_and_one_release() -> None:
    found = told(Drag("left", (100, 100), (300, 200)))
    assert found.index("left down") == 2 and found[-1] == "left up"
    assert found.count("left down") == found.count("left up") == 1
    last = told(Move(300, 200))
    assert found[-3:-1] == last and len(found) > 20


def test_the_wheel_turns_click_by_click() -> None:
    assert told(Scroll(0, 2)) == ["wheel-down down", "wheel-down up"] * 2
    assert told(Scroll(0, -1)) == ["wheel-up down", "wheel-up up"]


def test_text_and_chords_are_strokes_of_a_us_keyboard() -> None:
    assert told(TypeText("aB:"), PressKeys(("Control_L", "c"))) == ["a", "shift+b", "shift+semicolon", "ctrl+c"]


def test_what_is_held_is_let_go() -> None:
    monitor = Monitor()
    hands = BlindHands(cast(QmpClient, monitor), lambda: (10, 10), lambda seconds: None)
    hands.do([Buttons((("right", True),))], Deadline.after(10))
    hands.release(Deadline.after(10))
    assert monitor.told == ["right down", "right up"]


@pytest.mark.parametrize("op", [TypeText("é"), PressKeys(("U20AC",)), Scroll(1, 0)])
def test_nothing_is_done_of_a_batch_with_something_that_cannot_be_done(op: InputOp) -> None:
    monitor = Monitor()
    with pytest.raises(ActionUnsupported, match="nothing was done"):
        BlindHands(cast(QmpClient, monitor), lambda: (10, 10), lambda seconds: None).do(
            [Move(1, 1), op], Deadline.after(10)
        )
    assert monitor.told == []
