"""What Android's ``input`` is told for the actions of the contract."""

from __future__ import annotations

import pytest

from gym_anything.actions.model import Buttons, Click, Drag, InputOp, KeysDown, Move, PressKeys, Scroll, TypeText
from gym_anything.errors import ActionUnsupported
from gym_anything.runtime.guest.adb.hands import input_lines

pytestmark = pytest.mark.unit

SIZE = (1080, 2400)


@pytest.mark.parametrize(
    ("op", "lines"),
    [
        (Click("left", 1, 2), ["input tap 1 2"]),
        (Click("left", 1, 2, 3), ["input tap 1 2; input tap 1 2; input tap 1 2"]),
        (Click("right", 1, 2), ["input swipe 1 2 1 2 1000"]),
        (Drag("left", (1, 2), (3, 4)), ["input swipe 1 2 3 4 500"]),
        (Move(1, 2), []),
        (Scroll(0, 1), ["input swipe 540 1200 540 900 500"]),  # down: what is below comes up
        (Scroll(-1, 0), ["input swipe 540 1200 675 1200 500"]),
        (TypeText("a b"), ["input text a%sb"]),
        (TypeText("$(reboot); `x` 'q' \"d\""), ["input text '$(reboot);%s`x`%s'\"'\"'q'\"'\"'%s\"d\"'"]),
        (TypeText("100%s\t"), ["input text 100%", "input text s", "input keyevent KEYCODE_TAB"]),
        (PressKeys(("Escape",)), ["input keyevent KEYCODE_ESCAPE"]),
        (PressKeys(("Control_L", "a")), ["input keycombination KEYCODE_CTRL_LEFT KEYCODE_A"]),
        (PressKeys(("7",)), ["input keyevent KEYCODE_7"]),
    ],
)
def test_each_action_is_a_command_line(op: InputOp, lines: list[str]) -> None:
    assert input_lines([op], SIZE) == lines


@pytest.mark.parametrize(
    "op",
    [
        Click("middle", 1, 2),
        Click("right", 1, 2, 2),
        Drag("right", (1, 2), (3, 4)),
        Buttons((("left", True),)),
        KeysDown(("Shift_L",)),
        TypeText("é"),
        PressKeys(("U20AC",)),
    ],
)
def test_what_a_touch_screen_cannot_do_is_refused_with_all_that_came_with_it(op: InputOp) -> None:
    with pytest.raises(ActionUnsupported):
        input_lines([Click("left", 1, 2), op], SIZE)
