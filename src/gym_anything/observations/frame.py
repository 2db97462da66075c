"""The frame: one complete picture of a world's screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gym_anything.errors import CaptureFailed

RgbArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One complete, never torn screen picture.

    Attributes:
        array: RGB, uint8, shape (height, width, 3), origin top-left, guest pixels (unscaled), read-only. May be a view
            into shared memory without a copy: valid until the next step or capture of the same environment (its slot
            is pinned meanwhile); copy it to keep it longer.
        seq: strictly increasing per world.
        captured_at: seconds on the episode clock (``time.monotonic`` of the host for local worlds).
        after_input: number of the last acknowledged input this frame follows; 0 before the first.
    """

    array: RgbArray
    seq: int
    captured_at: float
    after_input: int = 0

    def __post_init__(self) -> None:
        a = self.array
        if a.ndim != 3 or a.shape[2] != 3 or a.dtype != np.uint8 or a.shape[0] == 0 or a.shape[1] == 0:
            raise CaptureFailed(
                f"a frame must be a non-empty RGB uint8 array of shape (H, W, 3), got {a.dtype} {a.shape}",
                detail={"shape": list(a.shape), "dtype": str(a.dtype)},
            )
        a.flags.writeable = False

    @property
    def width(self) -> int:
        """Width in guest pixels."""
        return int(self.array.shape[1])

    @property
    def height(self) -> int:
        """Height in guest pixels."""
        return int(self.array.shape[0])
