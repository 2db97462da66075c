"""Where the lines of a text are in a picture of an editor: found by their ink, so that no toolkit need be asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gym_anything.observations.frame import RgbArray

_INK = 60
"""How far a channel is from the background, of 255, to count as ink: less is smoothing."""
_SCROLL_BAR_PX = 24


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of monospaced text on the screen, in pixels.

    Attributes:
        left, right: where its ink begins and ends.
        middle: half its height.
        characters: how many columns it has.
    """

    left: int
    right: int
    middle: int
    characters: int

    def before(self, column: int) -> tuple[int, int]:
        """Return the point between a column and the one before it."""
        return round(self.left + (self.right - self.left) * column / self.characters), self.middle

    def over(self, first: int, last: int) -> tuple[int, int]:
        """Return the point in the middle of some columns."""
        return self.before(0)[0] + round(
            (self.right - self.left) * (first + last + 1) / 2 / self.characters
        ), self.middle


def find_lines(screen: RgbArray, box: tuple[int, int, int, int], texts: list[str]) -> list[TextLine] | None:
    """Return where the lines of a text are that is alone in a window.

    Args:
        box: the window: x, y, width, height.
        texts: the lines that are not empty; none begins or ends with a blank.
    Returns: None when the window shows another number of lines.
    """
    x, y, width, height = box
    window = screen[y : y + height, x : x + width].astype(np.int16)
    colours, counts = np.unique(window.reshape(-1, 3), axis=0, return_counts=True)
    ink = np.abs(window - colours[counts.argmax()]).max(axis=2) > _INK
    top, bottom = _longest_run((window == colours[counts.argmax()]).all(axis=2).mean(axis=1) > 0.5)
    area = ink[top:bottom, 2 : width - _SCROLL_BAR_PX]
    rows = _runs(area.any(axis=1))
    if len(rows) != len(texts):
        return None
    lines = []
    for (first, last), text in zip(rows, texts, strict=True):
        columns = np.flatnonzero(area[first:last].any(axis=0))
        left, right = int(columns[0]) + x + 2, int(columns[-1]) + x + 3
        lines.append(TextLine(left, right, y + top + (first + last) // 2, len(text)))
    return lines


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (first, behind the last) of each run of true flags."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return [(int(first), int(behind)) for first, behind in zip(edges[::2], edges[1::2], strict=True)]


def _longest_run(flags: npt.NDArray[np.bool_]) -> tuple[int, int]:
    return max(_runs(flags), key=lambda run: run[1] - run[0], default=(0, 0))
