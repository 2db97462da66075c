"""How alike two pictures are: the structural similarity index."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WINDOW_PX = 7
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2


def structural_similarity(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    """Return the mean SSIM of two pictures of one shape (H, W, 3), values 0..255: 1.0 for equal ones, never above.

    Uniform 7×7 windows wholly inside the picture (smaller pictures: one window), unbiased variances, on each colour
    channel, then averaged.

    Source: Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error visibility to structural similarity",
        2004, equation 13, K1 = 0.01, K2 = 0.03.
    """
    import numpy as np

    if first.shape != second.shape or first.ndim != 3:
        raise ValueError(f"two pictures of one shape are needed, got {first.shape} and {second.shape}")
    means = [_channel(first[:, :, c], second[:, :, c]) for c in range(first.shape[2])]
    return float(np.mean(means))


def _channel(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    import numpy as np

    height, width = min(_WINDOW_PX, x.shape[0]), min(_WINDOW_PX, x.shape[1])
    count = height * width
    mean_x, mean_y = _window_means(x, height, width), _window_means(y, height, width)
    unbiased = count / (count - 1) if count > 1 else 0.0
    var_x = (_window_means(x * x, height, width) - mean_x * mean_x) * unbiased
    var_y = (_window_means(y * y, height, width) - mean_y * mean_y) * unbiased
    covariance = (_window_means(x * y, height, width) - mean_x * mean_y) * unbiased
    top = (2 * mean_x * mean_y + _C1) * (2 * covariance + _C2)
    bottom = (mean_x * mean_x + mean_y * mean_y + _C1) * (var_x + var_y + _C2)
    return float(np.mean(top / bottom))


def _window_means(values: npt.NDArray[np.float64], height: int, width: int) -> npt.NDArray[np.float64]:
    """Return the mean of every height×width window, by a table of sums."""
    import numpy as np

    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    np.cumsum(np.cumsum(values, axis=0), axis=1, out=sums[1:, 1:])
    total = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    return total / (height * width)
