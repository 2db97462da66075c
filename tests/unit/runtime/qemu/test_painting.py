"""A picture kept up to date: what is looked at never changes, what nobody looks at is painted over in place."""

from __future__ import annotations

import numpy as np
import pytest

from gym_anything.runtime.qemu.painting import BgrxArray, Painting, paint

pytestmark = pytest.mark.unit


def pixels(width: int, height: int, blue: int, green: int, red: int) -> BgrxArray:
    return np.full((height, width, 4), (blue, green, red, 99), np.uint8)


def test_pixels_of_a_machine_become_rgb_where_they_belong() -> None:
    painting = Painting()
    paint(painting.begin(8, 6), 0, 0, pixels(8, 6, 1, 2, 3))
    paint(painting.begin(8, 6), 2, 1, pixels(3, 4, 10, 20, 30))
    array = painting.view()
    assert array[0, 0].tolist() == [3, 2, 1] and array[1, 2].tolist() == [30, 20, 10]
    assert int((array == 30).sum()) == 12
    assert not array.flags.writeable


def test_what_is_looked_at_does_not_change() -> None:
    painting = Painting()
    paint(painting.begin(8, 6), 0, 0, pixels(8, 6, 1, 1, 1))
    first, part = painting.view(), painting.view()[2:4]
    assert painting.view() is first
    paint(painting.begin(8, 6), 0, 0, pixels(2, 2, 5, 5, 5))
    assert (first == 1).all() and (part == 1).all()
    second = painting.view()
    assert second[0, 0, 0] == 5 and second[5, 7, 0] == 1
    assert painting.picture == 2


def test_memory_that_nobody_looks_at_is_used_again() -> None:
    painting, places = Painting(), set()
    for n in range(20):
        paint(painting.begin(8, 6), 0, 0, pixels(8, 6, n, n, n))
        places.add(painting.view().__array_interface__["data"][0])
    assert len(places) == 1
    kept = [painting.view()]
    for n in range(20):
        paint(painting.begin(8, 6), 0, 0, pixels(8, 6, n, n, n))
        places.add(painting.view().__array_interface__["data"][0])
    assert len(places) == 2 and (kept[0] == 19).all()


def test_another_size_begins_anew() -> None:
    painting = Painting()
    paint(painting.begin(8, 6), 0, 0, pixels(8, 6, 1, 1, 1))
    old = painting.view()
    paint(painting.begin(4, 4), 0, 0, pixels(4, 4, 2, 2, 2))
    assert painting.size == (4, 4) and painting.view().shape == (4, 4, 3) and old.shape == (6, 8, 3)
    painting.forget()
    assert painting.size is None
