"""Pictures drawn from parts: exact, whole or not at all, and never changed under whoever looks at them."""

from __future__ import annotations

import gc
import io
import os
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gym_anything.errors import BadWire, MissingExtra
from gym_anything.observations.frame import RgbArray
from gym_anything.runtime.desktop import far_picture
from gym_anything.runtime.desktop.far_picture import LARGEST_BYTES, FarPicture
from gym_anything.runtime.desktop.far_wire import CONSTANTS, OWN_FIELDS

pytestmark = pytest.mark.unit
block = pytest.importorskip("lz4.block", reason="the extra `far` is not installed")

WIDTH, HEIGHT = 19, 13
RAW, LZ4, JPEG = (CONSTANTS[f"ENCODING_{name}"] for name in ("RAW", "LZ4", "JPEG"))
Box = tuple[int, int, int, int]


def part(pixels: RgbArray, x: int, y: int, encoding: int = LZ4) -> memoryview:
    """Return the body of a RECT, as the gate makes it."""
    height, width, _ = pixels.shape
    data = pixels.tobytes()
    if encoding == LZ4:
        data = block.compress(data, store_size=False)
    return body(x, y, width, height, encoding, data)


def body(x: int, y: int, width: int, height: int, encoding: int, data: bytes) -> memoryview:
    return memoryview(OWN_FIELDS["RECT"].pack(x, y, width, height, encoding) + data)


def jpeg(pixels: RgbArray) -> bytes:
    packed = io.BytesIO()
    Image.fromarray(pixels).save(packed, "JPEG", quality=95)
    return packed.getvalue()


def filled(value: int, width: int = WIDTH, height: int = HEIGHT) -> RgbArray:
    return np.full((height, width, 3), value, np.uint8)


def show(picture: FarPicture, pixels: RgbArray, number: int) -> RgbArray:
    """Draw a whole picture and return the view."""
    picture.begin(pixels.shape[1], pixels.shape[0], whole=True)
    picture.put(part(pixels, 0, 0))
    picture.finish(number)
    return picture.view()


boxes = st.tuples(
    st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1), st.integers(1, WIDTH), st.integers(1, HEIGHT)
).map(lambda b: (b[0], b[1], min(b[2], WIDTH - b[0]), min(b[3], HEIGHT - b[1])))
steps = st.lists(
    st.tuples(st.lists(st.tuples(boxes, st.integers(0, 255), st.sampled_from([RAW, LZ4])), max_size=4), st.booleans()),
    max_size=8,
)


@given(steps, st.integers(0, 2**32))
def test_pictures_are_exact_and_views_never_change(
    changes: list[tuple[list[tuple[Box, int, int]], bool]], seed: int
) -> None:
    """Against a plain model; some views are kept and some are dropped, some as slices only."""
    model = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    picture = FarPicture()
    kept: list[tuple[RgbArray, RgbArray]] = [(show(picture, model, 1), model.copy())]
    for number, (parts, keep) in enumerate(changes, 2):
        picture.begin(WIDTH, HEIGHT, whole=False)
        for (x, y, width, height), value, encoding in parts:
            model[y : y + height, x : x + width] = value
            picture.put(part(model[y : y + height, x : x + width].copy(), x, y, encoding))
        picture.finish(number)
        np.testing.assert_array_equal(picture.view(), model)
        if keep:
            kept.append((picture.view(), model.copy()))
        else:
            kept[-1] = (kept[-1][0][2:], kept[-1][1][2:])
    for view, expected in kept:
        np.testing.assert_array_equal(view, expected)


@given(
    st.integers(0, 70000), st.integers(0, 70000), st.booleans(), st.lists(st.binary(max_size=80), max_size=3), st.integers(0, 2**64 - 1)
)  # fmt: skip
def test_whatever_comes_is_drawn_or_refused(
    width: int, height: int, whole: bool, rects: list[bytes], number: int
) -> None:
    picture = FarPicture()
    view = show(picture, filled(3), 1)
    try:
        picture.begin(width % 65536, height % 65536, whole=whole)
        for rect in rects:
            if len(rect) >= OWN_FIELDS["RECT"].size:
                picture.put(memoryview(rect))
        picture.finish(number)
    except BadWire:
        pass
    assert (view == 3).all()


@given(boxes, st.sampled_from([RAW, LZ4, JPEG, 3, 255]), st.data())
def test_a_part_whose_bytes_are_wrong_is_refused(box: Box, encoding: int, data: st.DataObject) -> None:
    """A good part with one place changed, cut off or made longer: the right size or nothing."""
    x, y, width, height = box
    picture = FarPicture()
    show(picture, filled(9), 1)
    good = (
        jpeg(filled(7, width, height))
        if encoding == JPEG
        else bytes(part(filled(7, width, height), 0, 0, encoding))[9:]
    )
    how = data.draw(st.sampled_from(["change", "cut", "lengthen"]))
    place = data.draw(st.integers(0, len(good) - 1))
    bad = {
        "change": good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :],
        "cut": good[:place],
        "lengthen": good + b"\0\1\2",
    }[how]
    picture.begin(WIDTH, HEIGHT, whole=False)
    try:
        picture.put(body(x, y, width, height, encoding, bad))
    except BadWire:
        return
    picture.finish(2)
    outside = picture.view().copy()
    outside[y : y + height, x : x + width] = 9
    assert (outside == 9).all(), "nothing beyond its place was touched"


@pytest.mark.parametrize(
    "rect",
    [
        body(0, 0, 0, 5, RAW, b""),
        body(WIDTH - 1, 0, 2, 1, RAW, bytes(6)),
        body(0, HEIGHT, 1, 1, RAW, bytes(3)),
        body(65535, 65535, 65535, 65535, RAW, b""),
        body(0, 0, 2, 1, RAW, bytes(5)),
        body(0, 0, 2, 1, RAW, bytes(7)),
        body(0, 0, 2, 1, LZ4, b""),
        body(0, 0, 2, 1, LZ4, block.compress(bytes(5), store_size=False)),
        body(0, 0, 2, 1, LZ4, block.compress(bytes(7), store_size=False)),
        body(0, 0, 2, 1, JPEG, jpeg(filled(1, 3, 1))),
        body(0, 0, 2, 1, JPEG, jpeg(filled(1, 2, 1))[:-60]),
        body(0, 0, 2, 1, JPEG, b"\x89PNG\r\n\x1a\n"),
    ],
)
def test_a_part_that_does_not_fit_is_refused(rect: memoryview) -> None:
    picture = FarPicture()
    show(picture, filled(1), 1)
    picture.begin(WIDTH, HEIGHT, whole=False)
    with pytest.raises(BadWire):
        picture.put(rect)


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    """A few bytes that claim, or unpack to, far more than a part may have."""
    picture = FarPicture()
    bomb = block.compress(bytes(200 << 20), store_size=False)
    side = 4000
    large = Image.new("RGB", (side, side))
    packed = io.BytesIO()
    large.save(packed, "JPEG")
    del large
    picture.begin(side, side, whole=True)
    tracemalloc.start()
    try:
        for rect in (
            body(0, 0, 400, 400, LZ4, bomb),
            body(0, 0, side, side, LZ4, bomb),
            body(0, 0, 400, 400, JPEG, packed.getvalue()),
        ):
            with pytest.raises(BadWire):
                picture.put(rect)
        for width, height in [(65535, 65535), (LARGEST_BYTES // 3 + 1, 1), (0, 5)]:
            with pytest.raises(BadWire):
                picture.begin(width, height, whole=True)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_picture_is_taken_whole_or_not_at_all() -> None:
    picture = FarPicture()
    with pytest.raises(BadWire, match="not held"):
        picture.begin(WIDTH, HEIGHT, whole=False)
    view = show(picture, filled(5), 1)
    picture.begin(WIDTH, HEIGHT, whole=True)
    picture.put(part(filled(6, WIDTH, HEIGHT - 1), 0, 0))
    with pytest.raises(BadWire, match="did not come"):
        picture.finish(2)
    assert (view == 5).all() and picture.number == 1, "what is looked at is still held"
    picture.check_held(1)
    del view
    gc.collect()
    picture.begin(WIDTH, HEIGHT, whole=False)
    picture.put(part(filled(7), 0, 0))
    assert picture.number == 0, "drawn over in place: neither the old nor the new one"
    for number in (0, 1, 3):
        with pytest.raises(BadWire, match="unchanged"):
            picture.check_held(number)
    with pytest.raises(BadWire, match="not held"):
        picture.begin(WIDTH, HEIGHT, whole=False)
    assert (show(picture, filled(8), 4) == 8).all()


def test_another_size_needs_a_whole_picture() -> None:
    picture = FarPicture()
    small = show(picture, filled(5), 1)
    with pytest.raises(BadWire, match="not held"):
        picture.begin(WIDTH + 1, HEIGHT, whole=False)
    large = show(picture, filled(6, 40, 30), 2)
    assert large.shape == (30, 40, 3) and (large == 6).all() and (small == 5).all()


@pytest.mark.parametrize(
    "derive",
    [
        pytest.param(lambda view: view[1:3, ::2], id="slice"),
        pytest.param(lambda view: view.reshape(-1), id="reshape"),
        pytest.param(lambda view: view[2][1:], id="slice of a slice"),
        pytest.param(memoryview, id="memoryview"),
        pytest.param(np.asarray, id="asarray"),
    ],
)
def test_what_is_made_from_a_view_does_not_change_either(derive: Callable[[RgbArray], object]) -> None:
    picture = FarPicture()
    made = derive(show(picture, filled(4), 1))
    gc.collect()
    for number in range(2, 8):
        show(picture, filled(100 + number), number)
    assert (np.asarray(made) == 4).all()


def test_views_are_read_only_and_the_same_as_long_as_the_picture_is() -> None:
    picture = FarPicture()
    view = show(picture, filled(4), 1)
    assert not view.flags.writeable and picture.view() is view
    with pytest.raises(ValueError, match="read-only"):
        view[0, 0, 0] = 1


def test_memory_is_used_again_when_nobody_looks() -> None:
    picture = FarPicture()
    places = set()
    previous = show(picture, filled(0), 1)
    for number in range(2, 40):
        current = show(picture, filled(number), number)
        places.add(current.__array_interface__["data"][0])
        previous = current
    assert len(places) <= 4 and (previous == 39).all()


def test_a_forked_child_keeps_what_it_saw() -> None:
    picture = FarPicture()
    view = show(picture, filled(4), 1)
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(told, 1)
        os._exit(0 if (view == 4).all() else 1)
    del view
    gc.collect()
    show(picture, filled(5), 2)
    os.write(tell, b"x")
    assert os.waitpid(child, 0)[1] == 0
    for fd in (told, tell):
        os.close(fd)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lz4", None)
    monkeypatch.delitem(__import__("sys").modules, "lz4.block", raising=False)
    with pytest.raises(MissingExtra, match=r"gym-anything\[far\]") as caught:
        far_picture.lz4_block()
    assert caught.value.detail == {"extra": "far"}
