"""Contact sheets: what was seen, row by row, with captions, and where the pointer went."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from gym_anything.measure.input_latency.evidence import Picture, Strip

_PICTURE_PX = 640
_GAP, _HEAD, _CAPTION = 16, 56, 30
_PAPER, _INK, _FAINT, _MARK = "#f4f4f2", "#1b1b1b", "#6a6a6a", "#e0147a"
_MARGIN_PX = 24
"""How much of the screen around the window is shown."""


def contact_sheet(title: str, strips: Sequence[Strip]) -> Image.Image:
    """Return one picture with all strips below each other; each picture shows its strip's part of the screen."""
    columns = max(len(strip.pictures) for strip in strips)
    heights = [_height(strip) + 2 * _CAPTION + _GAP for strip in strips]
    sheet = Image.new("RGB", (_GAP + columns * (_PICTURE_PX + _GAP), _HEAD + sum(heights) + _GAP), _PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((_GAP, _HEAD / 2), title, _INK, ImageFont.load_default(24), anchor="lm")
    top = _HEAD
    for strip, height in zip(strips, heights, strict=True):
        pen.text((_GAP, top + _CAPTION / 2), strip.title, _INK, ImageFont.load_default(19), anchor="lm")
        for column, picture in enumerate(strip.pictures):
            left = _GAP + column * (_PICTURE_PX + _GAP)
            shown = _shown(strip, picture)
            sheet.paste(shown, (left, top + _CAPTION))
            pen.rectangle(
                (left - 1, top + _CAPTION - 1, left + shown.width, top + _CAPTION + shown.height), outline="#b8b8b4"
            )
            below = top + _CAPTION + shown.height + _CAPTION / 2
            pen.text((left, below), picture.caption, _FAINT, ImageFont.load_default(17), anchor="lm")
        top += height
    return sheet


def _part(strip: Strip) -> tuple[int, int, int, int]:
    """Return (left, top, right, bottom) of what is shown of the screen."""
    x, y, width, height = strip.box
    screen = strip.pictures[0].image
    left, top = max(0, x - _MARGIN_PX), max(0, y - 2 * _MARGIN_PX)
    return left, top, min(screen.width, x + width + _MARGIN_PX), min(screen.height, y + height + _MARGIN_PX)


def _height(strip: Strip) -> int:
    left, top, right, bottom = _part(strip)
    return round((bottom - top) * _PICTURE_PX / (right - left))


def _shown(strip: Strip, picture: Picture) -> Image.Image:
    part = _part(strip)
    scale = _PICTURE_PX / (part[2] - part[0])
    size = (_PICTURE_PX, _height(strip))
    shown = picture.image.crop(part).resize(size, Image.Resampling.LANCZOS)
    points = [((x - part[0]) * scale, (y - part[1]) * scale) for x, y in picture.path]
    pen = ImageDraw.Draw(shown)
    for x, y in points[:1]:
        pen.ellipse((x - 7, y - 7, x + 7, y + 7), outline=_MARK, width=3)
    for start, end in itertools.pairwise(points):
        _arrow(pen, start, end)
    return shown


def _arrow(pen: ImageDraw.ImageDraw, start: tuple[float, float], end: tuple[float, float]) -> None:
    turn = math.atan2(end[1] - start[1], end[0] - start[0])
    pen.line((start, end), fill=_MARK, width=3)
    for side in (2.6, -2.6):
        pen.line((end, (end[0] + 14 * math.cos(turn + side), end[1] + 14 * math.sin(turn + side))), fill=_MARK, width=3)
