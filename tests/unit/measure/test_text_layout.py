"""Where lines of text are in a picture: found by ink, whatever stands around the text."""

from __future__ import annotations

import numpy as np
import pytest

from gym_anything.measure.input_latency.text_layout import find_lines

pytestmark = pytest.mark.unit

BOX = (50, 40, 600, 400)
CELL = 10


def window(*widths: int) -> np.ndarray:
    """Draw a window with a menu bar and lines of so many characters, each a block of ink with a gap of two pixels."""
    screen = np.full((500, 700, 3), 30, dtype=np.uint8)
    x, y, width, height = BOX
    screen[y : y + height, x : x + width] = 255
    screen[y : y + 30, x : x + width] = (200, 205, 210)
    screen[y + 8 : y + 20, x + 10 : x + 60] = 0
    for row, characters in enumerate(widths):
        top = y + 40 + row * 30
        for column in range(characters):
            screen[top : top + 14, x + 5 + column * CELL : x + 13 + column * CELL] = 0
    return screen


def test_lines_are_found_below_the_menu_bar_with_their_columns() -> None:
    lines = find_lines(window(20, 12), BOX, ["x" * 20, "x" * 12])
    assert lines is not None
    assert [(line.left, line.middle, line.characters) for line in lines] == [(55, 87, 20), (55, 117, 12)]
    for line in lines:
        for column in range(line.characters):
            assert abs(line.before(column)[0] - (55 + column * CELL)) <= 2, (
                "nearer to this edge of a cell than to any other"
            )
    assert abs(lines[0].over(4, 7)[0] - (55 + 6 * CELL)) <= 2


def test_another_number_of_lines_is_no_answer() -> None:
    assert find_lines(window(20), BOX, ["x" * 20, "x" * 12]) is None
    assert find_lines(window(), BOX, ["x"]) is None
