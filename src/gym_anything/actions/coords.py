"""Coordinate spaces: what a model's numbers mean, said by an object instead of guessed from the numbers.

An action's coordinates are guest screen pixels. Many models answer in something else: a grid of 0 to 1000, fractions
of the screen, the pixels of a smaller picture that they were shown. A space checks a point **in the caller's own
units, before any scaling**, and maps it to the pixel of the screen that it means; ``to_screen_action`` does so for a
whole action dict.

    space = PictureSpace(1280, 800)              # the model was shown the screen scaled to 1280 x 800
    env.step(to_screen_action({"mouse": {"left_click": [640, 400]}}, space, screen=(2560, 1600)))

``from_screen`` is the way back (to draw a pointer into what the model sees); from there ``to_screen`` gives the same
pixel again whenever the space is at least as fine as the screen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gym_anything.actions.model import Point
from gym_anything.actions.parse import CLICKS, DRAGS
from gym_anything.actions.values import read_number, refuse


class CoordinateSpace(Protocol):
    """Maps between a caller's points and screen pixels."""

    def to_screen(self, point: Any, screen: tuple[int, int], *, where: str = "point") -> Point:
        """Return the screen pixel that ``[x, y]`` means on a screen of (width, height).

        Raises: ActionError, in the caller's units, for a point outside the space.
        """
        ...

    def from_screen(self, pixel: Point, screen: tuple[int, int]) -> tuple[float, float]:
        """Return the middle of a screen pixel in this space's units."""
        ...


@dataclass(frozen=True, slots=True)
class GridSpace:
    """Whole or broken numbers from 0 to ``extent`` on both axes, the whole screen wide and high, both ends included.

    ``GridSpace(1000)`` is the grid of the models that answer in thousandths, ``GridSpace(1)`` fractions of the screen.
    0 is the left or top edge and ``extent`` the right or bottom edge, which belongs to the last pixel.
    """

    extent: float = 1000

    def __post_init__(self) -> None:
        if not (math.isfinite(self.extent) and self.extent > 0):
            raise ValueError(f"a grid's extent must be positive, got {self.extent}")

    def to_screen(self, point: Any, screen: tuple[int, int], *, where: str = "point") -> Point:
        """See ``CoordinateSpace``."""
        x, y = _read_pair(point, where)
        if not (0 <= x <= self.extent and 0 <= y <= self.extent):
            raise refuse(where, f"point [{x:g}, {y:g}] is outside the grid of 0 to {self.extent:g}")
        return _pixel(x / self.extent, screen[0]), _pixel(y / self.extent, screen[1])

    def from_screen(self, pixel: Point, screen: tuple[int, int]) -> tuple[float, float]:
        """See ``CoordinateSpace``."""
        return (pixel[0] + 0.5) / screen[0] * self.extent, (pixel[1] + 0.5) / screen[1] * self.extent


@dataclass(frozen=True, slots=True)
class PictureSpace:
    """Pixels of a picture of the screen that was scaled to ``width`` x ``height``; 0 to width - 1 and 0 to height - 1.

    A pixel's middle is mapped, so that a picture of half the size means the nearer of the four pixels it stands for.
    ``PictureSpace(*screen)`` is the screen itself.
    """

    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ValueError(f"a picture has at least one pixel, got {self.width}x{self.height}")

    def to_screen(self, point: Any, screen: tuple[int, int], *, where: str = "point") -> Point:
        """See ``CoordinateSpace``; a broken number means the pixel it lies in."""
        x, y = _read_pair(point, where)
        if not (0 <= x < self.width and 0 <= y < self.height):
            raise refuse(where, f"point [{x:g}, {y:g}] is outside the {self.width}x{self.height} picture")
        across = (math.floor(x) + 0.5) / self.width
        down = (math.floor(y) + 0.5) / self.height
        return _pixel(across, screen[0]), _pixel(down, screen[1])

    def from_screen(self, pixel: Point, screen: tuple[int, int]) -> tuple[float, float]:
        """See ``CoordinateSpace``."""
        return (pixel[0] + 0.5) / screen[0] * self.width, (pixel[1] + 0.5) / screen[1] * self.height


def smart_resized(
    screen: tuple[int, int], *, factor: int = 28, min_pixels: int = 56 * 56, max_pixels: int = 14 * 14 * 4 * 1280
) -> PictureSpace:
    """Return the space of a picture resized the way vision models with patches do: sides are multiples of ``factor``.

    The aspect ratio is kept as nearly as that allows and the area lies between ``min_pixels`` and ``max_pixels``. The
    numbers differ between models: pass your model's.
    Raises: ValueError for a screen without area or a side ratio above 200.
    Source: the preprocessing that the Qwen2-VL report describes (dynamic resolution, 28-pixel units).
    """
    width, height = screen
    if min(width, height) < 1 or max(width, height) > 200 * min(width, height):
        raise ValueError(f"a screen of {width}x{height} cannot be resized this way")
    new_width = max(factor, round(width / factor) * factor)
    new_height = max(factor, round(height / factor) * factor)
    if new_width * new_height > max_pixels:
        shrink = math.sqrt(width * height / max_pixels)
        new_width = max(factor, math.floor(width / shrink / factor) * factor)
        new_height = max(factor, math.floor(height / shrink / factor) * factor)
    elif new_width * new_height < min_pixels:
        grow = math.sqrt(min_pixels / (width * height))
        new_width = math.ceil(width * grow / factor) * factor
        new_height = math.ceil(height * grow / factor) * factor
    return PictureSpace(new_width, new_height)


def to_screen_action(raw: Mapping[str, Any], space: CoordinateSpace, *, screen: tuple[int, int]) -> dict[str, Any]:
    """Return a copy of an action dict with every point of its ``mouse`` mapped from ``space`` to screen pixels.

    Everything else is left as it is; ``parse_action`` judges it later.
    Raises: ActionError in the caller's units for a point outside the space.
    """
    mouse = raw.get("mouse")
    if not isinstance(mouse, Mapping):
        return dict(raw)
    mapped: dict[str, Any] = dict(mouse)
    for key in (*CLICKS, "move"):
        if key in mouse:
            mapped[key] = list(space.to_screen(mouse[key], screen, where=f"mouse.{key}"))
    for key in DRAGS:
        if key in mouse:
            ends = mouse[key]
            if not isinstance(ends, list | tuple) or len(ends) != 2:
                raise refuse(f"mouse.{key}", f"must be [[x1, y1], [x2, y2]], got {ends!r:.80}")
            mapped[key] = [list(space.to_screen(end, screen, where=f"mouse.{key}[{i}]")) for i, end in enumerate(ends)]
    return {**raw, "mouse": mapped}


def _read_pair(point: Any, where: str) -> tuple[float, float]:
    if not isinstance(point, list | tuple) or len(point) != 2:
        raise refuse(where, f"must be [x, y], got {point!r:.80}")
    return read_number(point[0], f"{where}[0]"), read_number(point[1], f"{where}[1]")


def _pixel(fraction: float, size: int) -> int:
    return min(math.floor(fraction * size), size - 1)
