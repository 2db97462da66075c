"""The picture that this side of a stream holds: drawn from the parts that came, and never under a view's owner."""

from __future__ import annotations

import io
import mmap
import weakref
from collections import deque
from typing import Any

import numpy as np

from gym_anything.errors import BadWire, CaptureFailed, MissingExtra
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop.far_wire import CONSTANTS, OWN_FIELDS

LARGEST_BYTES = 128 << 20
"""No screen that we know has more (8K has 95 MiB); a gate that says so is refused before any memory is taken."""

_SPARE_CANVASES = 2
_RECT = OWN_FIELDS["RECT"]
_RAW, _LZ4, _JPEG = (CONSTANTS[f"ENCODING_{name}"] for name in ("RAW", "LZ4", "JPEG"))


def lz4_block() -> Any:
    """Return the module that unpacks exact pixels. Raises: MissingExtra."""
    try:
        import lz4.block
    except ImportError as error:
        raise MissingExtra(
            'a desktop on another host needs an extra: pip install "gym-anything[far]"', detail={"extra": "far"}
        ) from error
    return lz4.block


class Canvas:
    """Memory for one picture, and whether anybody looks at it."""

    def __init__(self, width: int, height: int) -> None:
        self.shape = (height, width, 3)
        # Private: a forked child keeps what it has seen. Not an array: what is made from a view must keep the view
        # alive, and numpy would make it keep only the array below.
        try:
            self._memory = mmap.mmap(-1, width * height * 3, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise CaptureFailed(f"there is no memory for a picture of {width} x {height} pixels: {error}") from error
        self.pixels: RgbArray = np.ndarray(self.shape, np.uint8, buffer=self._memory)
        self._view: weakref.ref[RgbArray] | None = None

    def view(self) -> RgbArray:
        """Return a read-only view; the same one as long as somebody has it."""
        view = self._view() if self._view is not None else None
        if view is None:
            view = np.ndarray(self.shape, np.uint8, buffer=self._memory)
            view.flags.writeable = False
            self._view = weakref.ref(view)
        return view

    @property
    def seen(self) -> bool:
        """Whether a view, or anything made from it, is alive."""
        return self._view is not None and self._view() is not None


class FarPicture:
    """A picture taken whole or not at all: ``begin``, ``put`` each part, ``finish``. One thread at a time."""

    def __init__(self) -> None:
        """Raises: MissingExtra."""
        self._lz4 = lz4_block()
        self._shown: Canvas | None = None
        self._drawn: Canvas | None = None
        self._canvases: deque[Canvas] = deque(maxlen=_SPARE_CANVASES)
        self._missing = 0
        self.number = 0
        """Of the picture that is held whole; 0: none."""

    def begin(self, width: int, height: int, *, whole: bool) -> None:
        """Begin a picture: over what is held, or with ``whole`` over nothing.

        Raises: BadWire, for a size that no screen has, or when there is nothing of this size to draw over.
        """
        if not 0 < width * height * 3 <= LARGEST_BYTES:
            raise BadWire(f"the gate sent a picture of {width} x {height} pixels")
        shown = self._shown
        fits = shown is not None and shown.shape == (height, width, 3)
        if not whole and not (fits and self.number):
            raise BadWire("the gate sent what changed in a picture that is not held")
        self._missing = width * height if whole else 0
        if shown is not None and fits and not shown.seen:
            self.number = 0  # drawn over in place: until the end it is neither the old nor the new one
            self._drawn = shown
            return
        self._drawn = self._free_canvas(width, height)
        if not whole and shown is not None:
            self._drawn.pixels[...] = shown.pixels

    def put(self, rect: memoryview) -> None:
        """Draw one part, given as the body of a RECT. Raises: BadWire; nothing beyond a part's bound is allocated."""
        canvas = self._drawn
        assert canvas is not None
        x, y, width, height, encoding = _RECT.unpack_from(rect)
        size = width * height * 3
        if not size or size > CONSTANTS["MAX_RECT_BYTES"]:
            raise BadWire(f"the gate sent a part of {width} x {height} pixels")
        if x + width > canvas.shape[1] or y + height > canvas.shape[0]:
            raise BadWire("the gate sent a part that lies outside its picture")
        packed = rect[_RECT.size :]
        target = canvas.pixels[y : y + height, x : x + width]
        target[...] = self._pixels(encoding, packed, width, height)
        self._missing -= width * height

    def finish(self, number: int) -> None:
        """Take the picture: from now on it is the one that is held. Raises: BadWire when parts are missing."""
        assert self._drawn is not None
        if self._missing > 0 or not number:
            raise BadWire(f"{self._missing} pixels of picture {number} did not come")
        if self._shown is not None and self._shown is not self._drawn:
            self._canvases.append(self._shown)
        self._shown, self._drawn, self.number = self._drawn, None, number

    def check_held(self, number: int) -> None:
        """Raise BadWire unless this picture is held."""
        if not number or number != self.number:
            raise BadWire(f"the gate says that picture {number} is unchanged; {self.number} is held")

    def view(self) -> RgbArray:
        """Return the picture that is held, read-only."""
        assert self._shown is not None and self.number
        return self._shown.view()

    def _free_canvas(self, width: int, height: int) -> Canvas:
        """Return memory that nobody looks at. What is looked at belongs to who looks; we keep few others."""
        for canvas in list(self._canvases):
            if canvas.shape != (height, width, 3):
                self._canvases.remove(canvas)
            elif not canvas.seen:
                self._canvases.remove(canvas)
                return canvas
        return Canvas(width, height)

    def _pixels(self, encoding: int, packed: memoryview, width: int, height: int) -> RgbArray:
        size = width * height * 3
        pixels: bytes | memoryview
        if encoding == _LZ4:
            try:
                pixels = self._lz4.decompress(packed, uncompressed_size=size)
            except self._lz4.LZ4BlockError as error:
                raise BadWire(f"the gate sent a part that cannot be unpacked: {error}") from error
        elif encoding == _RAW:
            pixels = packed
        elif encoding == _JPEG:
            return _from_jpeg(packed, width, height)
        else:
            raise BadWire(f"the gate sent a part in the unknown encoding {encoding}")
        if len(pixels) != size:
            raise BadWire(f"the gate sent {len(pixels)} bytes for {width} x {height} pixels")
        return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


def _from_jpeg(packed: memoryview, width: int, height: int) -> RgbArray:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(packed), formats=["JPEG"]) as image:
            if image.size != (width, height):  # known before anything is unpacked
                raise BadWire(f"the gate sent a JPEG of {image.size} for {width} x {height} pixels")
            return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, BadWire):
            raise
        raise BadWire(f"the gate sent a part that is no JPEG: {error}") from error
