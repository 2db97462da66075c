"""Coordinate spaces: checked in the caller's units first, then mapped to the pixel that was meant."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.actions.coords import CoordinateSpace, GridSpace, PictureSpace, smart_resized, to_screen_action
from gym_anything.errors import ActionError

pytestmark = pytest.mark.unit

SCREEN = (1920, 1080)
screens = st.tuples(st.integers(1, 4000), st.integers(1, 4000))


@pytest.mark.parametrize(
    ("space", "point", "pixel"),
    [
        (GridSpace(1000), [0, 0], (0, 0)),
        (GridSpace(1000), [1000, 1000], (1919, 1079)),
        (GridSpace(1000), [500, 500], (960, 540)),
        (GridSpace(1), [0.25, 0.5], (480, 540)),
        (PictureSpace(960, 540), [0, 0], (1, 1)),
        (PictureSpace(960, 540), [959, 539], (1919, 1079)),
        (PictureSpace(1920, 1080), [7, 9], (7, 9)),
        (PictureSpace(3840, 2160), [3839, 2159], (1919, 1079)),
    ],
)
def test_a_point_means_this_pixel(space: CoordinateSpace, point: list[float], pixel: tuple[int, int]) -> None:
    """P6: model grids and scaled screenshots are mapped by an explicit object."""
    assert space.to_screen(point, SCREEN) == pixel


@pytest.mark.parametrize(
    ("space", "point", "units"),
    [
        (GridSpace(1000), [1001, 5], "grid of 0 to 1000"),
        (GridSpace(1000), [-1, 5], "grid of 0 to 1000"),
        (GridSpace(1), [0.5, 1.01], "grid of 0 to 1"),
        (PictureSpace(1280, 720), [1280, 5], "1280x720 picture"),
        (PictureSpace(1280, 720), [5, 720], "1280x720 picture"),
    ],
)
def test_a_point_outside_is_refused_in_the_callers_units(
    space: CoordinateSpace, point: list[float], units: str
) -> None:
    """P2: refused before any scaling, in the space the caller speaks."""
    with pytest.raises(ActionError, match=units):
        space.to_screen(point, SCREEN)


@pytest.mark.parametrize("point", [None, [1], [1, 2, 3], ["1", 2], [True, 1], [math.nan, 1], [math.inf, 1], {"x": 1}])
def test_what_is_no_point_is_refused(point: Any) -> None:
    for space in (GridSpace(), PictureSpace(10, 10)):
        with pytest.raises(ActionError):
            space.to_screen(point, SCREEN)


@settings(max_examples=300, deadline=None)
@given(screens, st.data(), st.floats(1, 10))
def test_a_space_at_least_as_fine_as_the_screen_gives_every_pixel_back(
    screen: tuple[int, int], data: st.DataObject, finer: float
) -> None:
    pixel = (data.draw(st.integers(0, screen[0] - 1)), data.draw(st.integers(0, screen[1] - 1)))
    picture = PictureSpace(math.ceil(screen[0] * finer), math.ceil(screen[1] * finer))
    for space in (GridSpace(1000), GridSpace(1), picture):
        there = space.from_screen(pixel, screen)
        assert space.to_screen(list(there), screen) == pixel


@settings(max_examples=300, deadline=None)
@given(screens, st.floats(0, 1000), st.floats(0, 1000))
def test_a_point_inside_never_leaves_the_screen(screen: tuple[int, int], x: float, y: float) -> None:
    px, py = GridSpace(1000).to_screen([x, y], screen)
    assert 0 <= px < screen[0]
    assert 0 <= py < screen[1]


@settings(max_examples=200, deadline=None)
@given(st.integers(28, 8000), st.integers(28, 8000))
def test_a_smart_resized_picture_has_sides_in_patches_and_a_bounded_area(width: int, height: int) -> None:
    if max(width, height) > 200 * min(width, height):
        with pytest.raises(ValueError, match="cannot be resized"):
            smart_resized((width, height))
        return
    space = smart_resized((width, height), factor=28, min_pixels=56 * 56, max_pixels=1_000_000)
    assert space.width % 28 == 0
    assert space.height % 28 == 0
    # a side of one patch cannot get smaller, so very long and thin pictures may exceed the area
    assert space.width * space.height <= 1_000_000 or min(space.width, space.height) == 28


def test_a_whole_action_is_mapped_and_the_original_left_alone() -> None:
    raw = {
        "mouse": {"left_click": [500, 0], "left_click_drag": [[0, 0], [1000, 1000]], "scroll": 3},
        "keyboard": {"text": "a"},
    }
    mapped = to_screen_action(raw, GridSpace(1000), screen=SCREEN)
    assert mapped == {
        "mouse": {"left_click": [960, 0], "left_click_drag": [[0, 0], [1919, 1079]], "scroll": 3},
        "keyboard": {"text": "a"},
    }
    assert raw["mouse"]["left_click"] == [500, 0]
    assert to_screen_action({"action": "wait", "time": 1}, GridSpace(), screen=SCREEN) == {"action": "wait", "time": 1}
    with pytest.raises(ActionError, match=r"mouse\.move"):
        to_screen_action({"mouse": {"move": [1001, 0]}}, GridSpace(1000), screen=SCREEN)
    with pytest.raises(ActionError, match=r"mouse\.left_click_drag"):
        to_screen_action({"mouse": {"left_click_drag": [[0, 0]]}}, GridSpace(1000), screen=SCREEN)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_a_space_without_extent_is_a_mistake(bad: float) -> None:
    with pytest.raises(ValueError, match="extent"):
        GridSpace(bad)
    with pytest.raises(ValueError, match="pixel"):
        PictureSpace(0, 5)
