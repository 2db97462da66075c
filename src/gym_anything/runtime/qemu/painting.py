"""A picture of a machine's screen, kept up to date from the machine's own pixels, and never under a view's owner."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.far_picture import Canvas

BgrxArray = npt.NDArray[np.uint8]
"""H x W x 4: blue, green, red and a byte that means nothing, as every usual screen has them."""

_SPARE_CANVASES = 2


class Painting:
    """One screen in RGB. One thread at a time.

    What somebody looks at does not change: then the next change is painted over a copy.
    """

    def __init__(self) -> None:
        self._shown: Canvas | None = None
        self._spare: deque[Canvas] = deque(maxlen=_SPARE_CANVASES)
        self.picture = 0
        """Counts the changes: as long as it stays, the pixels do."""

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height of what is held; None: nothing is."""
        if self._shown is None:
            return None
        height, width, _ = self._shown.shape
        return width, height

    def forget(self) -> None:
        """Hold nothing, until a whole picture is painted. Views stay."""
        self._shown = None

    def begin(self, width: int, height: int) -> RgbArray:
        """Return what to paint on: the picture that is held, or, in another size than that, an empty one."""
        self.picture += 1
        shown = self._shown
        fits = shown is not None and self.size == (width, height)
        if shown is not None and fits and not shown.seen:
            return shown.pixels
        canvas = self._free(width, height)
        if shown is not None and fits:
            canvas.pixels[...] = shown.pixels
        if shown is not None:
            self._spare.append(shown)
        self._shown = canvas
        return canvas.pixels

    def view(self) -> RgbArray:
        """Return what is held, read-only; the same array as long as somebody has it."""
        assert self._shown is not None
        return self._shown.view()

    def _free(self, width: int, height: int) -> Canvas:
        """Return memory that nobody looks at. What is looked at belongs to who looks."""
        for canvas in list(self._spare):
            if canvas.shape != (height, width, 3) or not canvas.seen:
                self._spare.remove(canvas)
            if canvas.shape == (height, width, 3) and not canvas.seen:
                return canvas
        return Canvas(width, height)


def paint(target: RgbArray, x: int, y: int, pixels: BgrxArray) -> None:
    """Put pixels of a machine where they belong. Three passes: numpy is four times as slow in one."""
    height, width, _ = pixels.shape
    box = target[y : y + height, x : x + width]
    for channel in range(3):
        box[..., channel] = pixels[..., 2 - channel]
