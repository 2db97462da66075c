"""Screenshots as a model gets them: scaled once, into a size that is known exactly."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from gym_anything.models.messages import Picture

if TYPE_CHECKING:
    from PIL.Image import Image


def scaled_picture(image: Image, size: tuple[int, int] | None = None) -> Picture:
    """Return an image as PNG, scaled to exactly ``size`` (width, height) when it has another one."""
    from PIL import Image as images

    picture = image.convert("RGB")
    if size is not None and picture.size != size:
        picture = picture.resize(size, images.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=3)
    return Picture(buffer.getvalue())


def picture_of_file(path: str | Path, *, longest_side: int | None = None) -> Picture:
    """Return an image file as PNG, no side longer than ``longest_side`` pixels.

    Raises: OSError (also for what is no picture).
    """
    from PIL import Image as images

    with images.open(path) as image:
        image.load()
        return scaled_picture(image, fitted(image.size, longest_side=longest_side))


def fitted(
    size: tuple[int, int], *, longest_side: int | None = None, most_pixels: int | None = None
) -> tuple[int, int]:
    """Return the largest size of the same shape within the bounds; never larger than it was, never empty."""
    width, height = size
    scale = 1.0
    if longest_side is not None:
        scale = min(scale, longest_side / max(width, height))
    if most_pixels is not None:
        scale = min(scale, (most_pixels / (width * height)) ** 0.5)
    if scale >= 1.0:
        return width, height
    return max(1, int(width * scale)), max(1, int(height * scale))
