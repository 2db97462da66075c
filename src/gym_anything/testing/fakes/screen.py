"""The fake world's screen: drawn by plain rules, so that the same inputs always give the same pixels."""

from __future__ import annotations

import hashlib

import numpy as np

from gym_anything.actions.model import Button
from gym_anything.observations.frame import RgbArray

_CELL_W, _CELL_H = 6, 10
_BUTTON_COLOURS: dict[Button, tuple[int, int, int]] = {
    "left": (220, 40, 40),
    "middle": (40, 160, 60),
    "right": (40, 80, 220),
}


class FakeScreen:
    """A canvas with a background that follows the seed, a text line, marks for clicks, lines for drags."""

    def __init__(self, size: tuple[int, int], seed: int) -> None:
        self.width, self.height = size
        self.pointer = (self.width // 2, self.height // 2)
        self._canvas = self._background(seed)
        self._text_cells = 0

    def click(self, button: Button, x: int, y: int, count: int) -> None:
        """Draw one nested square per click and leave the pointer there."""
        for turn in range(count):
            reach = 4 + 3 * turn
            self._canvas[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1] = _BUTTON_COLOURS[button]
            self._canvas[max(0, y - reach + 1) : y + reach, max(0, x - reach + 1) : x + reach] += np.uint8(turn + 1)
        self.pointer = (x, y)

    def drag(self, button: Button, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Draw a line and leave the pointer at its end."""
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for step in range(steps + 1):
            x = start[0] + (end[0] - start[0]) * step // steps
            y = start[1] + (end[1] - start[1]) * step // steps
            self._canvas[y, x] = _BUTTON_COLOURS[button]
        self.pointer = end

    def move(self, x: int, y: int) -> None:
        """Put the pointer somewhere."""
        self.pointer = (x, y)

    def scroll(self, dx: int, dy: int) -> None:
        """Move the picture by a wheel click's four pixels, around the edges."""
        self._canvas = np.roll(self._canvas, shift=(-4 * dy, -4 * dx), axis=(0, 1))

    def write(self, symbol: str) -> None:
        """Draw one typed character or key as the next coloured cell."""
        per_row = max(1, self.width // _CELL_W)
        row, column = divmod(self._text_cells, per_row)
        top = (row * _CELL_H) % max(1, self.height - _CELL_H)
        colour = hashlib.sha256(symbol.encode("utf-8", "surrogatepass")).digest()[:3]
        self._canvas[top : top + _CELL_H, column * _CELL_W : (column + 1) * _CELL_W] = tuple(colour)
        self._text_cells += 1

    def render(self, *, tick: int = 0) -> RgbArray:
        """Return a fresh picture: the canvas, the pointer as a cross, and ``tick`` as a bar in the corner."""
        picture = self._canvas.copy()
        x, y = self.pointer
        picture[y, max(0, x - 3) : x + 4] = (0, 0, 0)
        picture[max(0, y - 3) : y + 4, x] = (0, 0, 0)
        for bit in range(16):
            if tick >> bit & 1:
                picture[-2:, bit * 2 : bit * 2 + 2] = (255, 255, 255)
        return picture

    def _background(self, seed: int) -> RgbArray:
        """Return a gradient with a panel; the seed turns its colours."""
        tint = np.frombuffer(hashlib.sha256(f"fake-screen-{seed}".encode()).digest()[:3], dtype=np.uint8)
        rows = np.linspace(0, 90, self.height, dtype=np.uint8)[:, None, None]
        canvas: RgbArray = np.empty((self.height, self.width, 3), dtype=np.uint8)
        canvas[:] = (rows + tint[None, None, :] // 2).astype(np.uint8)
        canvas[-max(2, self.height // 20) :] = (30, 30, 34)
        return canvas
