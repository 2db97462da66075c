"""Pictures as judges: structural similarity, against values computed by hand, and image_match."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_anything.errors import SpecInvalid, VerifierError
from gym_anything.verification.image_match import judge_by_image
from gym_anything.verification.similarity import structural_similarity
from tests.unit.verification.requests import request

pytestmark = pytest.mark.unit


C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def flat(value: float, height: int = 9, width: int = 9) -> Any:
    return np.full((height, width, 3), value, np.float64)


def test_equal_pictures_are_wholly_similar() -> None:
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 256, (40, 30, 3)).astype(np.float64)
    assert structural_similarity(picture, picture) == pytest.approx(1.0, abs=1e-12)


def test_flat_pictures_differ_by_their_brightness_alone() -> None:
    """Without variance SSIM is (2ab + C1) / (a² + b² + C1)."""
    expected = (2 * 100 * 150 + C1) / (100**2 + 150**2 + C1)
    assert expected == pytest.approx(0.923092, abs=1e-6)
    assert structural_similarity(flat(100), flat(150)) == pytest.approx(expected, abs=1e-9)
    assert structural_similarity(flat(0), flat(255)) == pytest.approx(C1 / (255**2 + C1), abs=1e-9)


def test_one_window_by_hand() -> None:
    """A 7×7 picture is one window: x has one bright pixel of 49, y has none."""
    x, y = flat(0, 7, 7), flat(0, 7, 7)
    x[3, 3, :] = 98.0
    mean_x = 98.0 / 49  # 2
    var_x = (98.0**2 / 49 - mean_x**2) * 49 / 48  # 192 * 49/48 = 196
    assert (mean_x, var_x) == (2.0, 196.0)
    expected = (C1 * C2) / ((mean_x**2 + C1) * (var_x + C2))
    assert structural_similarity(x, y) == pytest.approx(expected, abs=1e-12)


def test_opposite_patterns_are_negatively_similar() -> None:
    x = np.indices((7, 7)).sum(axis=0) % 2 * 255.0
    pattern, inverse = np.stack([x] * 3, axis=2), np.stack([255 - x] * 3, axis=2)
    mx, my = 24 / 49 * 255, 25 / 49 * 255
    var = (24 * 255**2 / 49 - mx**2) * 49 / 48
    expected = (2 * mx * my + C1) * (-2 * var + C2) / ((mx**2 + my**2 + C1) * (2 * var + C2))
    assert structural_similarity(pattern, inverse) == pytest.approx(expected, abs=1e-9)
    assert expected < -0.99


def test_windows_are_averaged() -> None:
    """A 7×8 picture has two windows; only the right one sees the bright column."""
    x, y = flat(0, 7, 8), flat(0, 7, 8)
    x[:, 7, :] = 49.0
    mean, var = 7.0, (49.0**2 / 7 - 49) * 49 / 48
    right = (C1 * C2) / ((mean**2 + C1) * (var + C2))
    assert structural_similarity(x, y) == pytest.approx((1.0 + right) / 2, abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (9, 3), (2, 2)])
def test_small_pictures_are_one_window(shape: tuple[int, int]) -> None:
    assert structural_similarity(flat(7, *shape), flat(7, *shape)) == pytest.approx(1.0)
    assert structural_similarity(flat(7, *shape), flat(9, *shape)) < 1.0


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shape"):
        structural_similarity(flat(1, 9, 9), flat(1, 9, 8))


def test_the_same_picture_passes_and_another_fails(pictures: Path) -> None:
    same = judge_by_image(request(pictures), {"target": "same.png"})
    assert same.passed and same.score == 100 and same.extra["ssim"] == 1.0 and same.extra["ssim_gt"] == 0.95
    other = judge_by_image(request(pictures), {"target": "other.png"})
    assert not other.passed and other.score == pytest.approx(100 * max(0, other.extra["ssim"]), abs=1e-3)
    low = judge_by_image(request(pictures), {"target": "other.png", "metric": {"ssim_gt": -1}})
    assert low.passed
    assert judge_by_image(request(pictures), {"target": "other.png", "region": [0, 24, 64, 24]}).passed
    assert judge_by_image(request(pictures), {"target": "same.png", "observed": "same.png", "metric": "ssim"}).passed


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"target": 5},
        {"target": "missing.png"},
        {"target": "broken.png"},
        {"target": "half.png"},
        {"target": "same.png", "ssim_gt": "high"},
        {"target": "same.png", "ssim_gt": 2},
        {"target": "same.png", "ssim_gt": math.nan},
        {"target": "same.png", "metric": "psnr"},
        {"target": "same.png", "metric": {"psnr": 3}},
        {"target": "same.png", "region": [0, 0, 65, 1]},
        {"target": "same.png", "region": [0, 0, 1]},
        {"target": "same.png", "region": "all"},
    ],
)
def test_what_the_content_got_wrong_is_blamed_on_it(pictures: Path, spec: dict[str, Any]) -> None:
    with pytest.raises(SpecInvalid) as error:
        judge_by_image(request(pictures), spec)
    assert error.value.blame == "content"


def test_another_size_is_compared_when_scaling_is_asked_for(pictures: Path) -> None:
    assert judge_by_image(request(pictures), {"target": "half.png", "resize": True, "ssim_gt": 0.1}).passed


def test_a_missing_screenshot_is_the_judges_trouble(pictures: Path) -> None:
    with pytest.raises(VerifierError):
        judge_by_image(request(pictures), {"target": "same.png", "observed": "nothing.png"})
