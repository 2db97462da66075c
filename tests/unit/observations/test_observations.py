"""The observation dicts of the contract, and pictures written whole or not at all."""

from __future__ import annotations

import base64
import copy
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from PIL import Image

from gym_anything.errors import CaptureFailed, ObservationError
from gym_anything.observations.encode import check_png, encode_png, write_png
from gym_anything.observations.frame import Frame, RgbArray
from gym_anything.observations.modalities import (
    AudioChunk,
    audio_observation,
    merge_runner_observation,
    screen_file_observation,
    screen_frame_observation,
    ui_tree_observation,
)

pytestmark = pytest.mark.unit

KEYS = ["image", "format", "resolution", "mode", "array", "seq", "captured_at"]


def picture(width: int = 4, height: int = 3) -> RgbArray:
    return np.arange(width * height * 3, dtype=np.uint8).reshape(height, width, 3)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=40).map(lambda s: (*s, 3))))
def test_a_picture_comes_back_from_png_exactly(array: RgbArray) -> None:
    with Image.open(io.BytesIO(encode_png(array))) as image:
        assert image.mode == "RGB"
        assert np.array_equal(np.asarray(image), array)


def test_a_view_that_is_not_contiguous_is_encoded_as_it_looks() -> None:
    wide = np.random.default_rng(1).integers(0, 255, (10, 20, 3), dtype=np.uint8)
    for view in (wide[::2, ::-1], wide.transpose(1, 0, 2), wide[3:5, 4:9]):
        with Image.open(io.BytesIO(encode_png(view))) as image:
            assert np.array_equal(np.asarray(image), view)


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 5, 3), np.uint8), np.zeros((5, 5), np.uint8), np.zeros((5, 5, 4), np.uint8), np.zeros((5, 5, 3))],
)
def test_what_is_no_picture_is_an_error_and_leaves_no_file(tmp_path: Path, array: Any) -> None:
    """S1: an empty or zero-size frame is a typed error, not an image."""
    with pytest.raises(CaptureFailed):
        encode_png(array)
    with pytest.raises(CaptureFailed):
        write_png(tmp_path / "frame.png", array)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["frame", "array", "image", "rgba"])
def test_a_written_picture_is_whole_and_alone_in_its_folder(tmp_path: Path, kind: str) -> None:
    array = picture()
    source: Any = {
        "frame": lambda: Frame(array, 1, 0.0),
        "array": lambda: array,
        "image": lambda: Image.fromarray(array),
        "rgba": lambda: Image.fromarray(array).convert("RGBA"),
    }[kind]()
    path = tmp_path / "new folder é" / "frame.png"
    assert write_png(path, source) == path.read_bytes()
    assert [entry.name for entry in path.parent.iterdir()] == ["frame.png"]
    assert check_png(path) == (4, 3)
    with Image.open(path) as image:
        assert np.array_equal(np.asarray(image), array)


def test_a_torn_empty_or_missing_file_is_no_picture(tmp_path: Path) -> None:
    """S1: an empty or torn picture is a typed error."""
    whole = encode_png(np.random.default_rng(1).integers(0, 255, (50, 50, 3), dtype=np.uint8))
    for name, content in {"torn": whole[: len(whole) // 2], "empty": b"", "text": b"hello", "head": whole[:20]}.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CaptureFailed):
            check_png(path)
    with pytest.raises(CaptureFailed):
        check_png(tmp_path / "missing.png")


def test_the_screen_of_normal_mode(tmp_path: Path) -> None:
    png = write_png(tmp_path / "frame_00000.png", picture())
    path = tmp_path / "frame_00000.png"
    assert screen_file_observation(path, resolution=None, png=None) == {"path": str(path)}
    full = screen_file_observation(path, resolution=(4, 3), png=png)
    assert full == {"path": str(path), "resolution": [4, 3], "png_b64": base64.b64encode(png).decode()}
    assert type(full["path"]) is str


def test_the_screen_of_fast_mode_reads_as_a_plain_dict_however_it_is_read() -> None:
    array = picture()
    make = lambda: screen_frame_observation(Frame(array, 7, 1.5))  # noqa: E731
    screen = make()
    assert isinstance(screen, dict)
    assert list(screen) == KEYS
    assert len(screen) == 7
    assert "image" in screen
    assert {k: screen[k] for k in ("format", "resolution", "mode", "seq", "captured_at")} == {
        "format": "pil",
        "resolution": [4, 3],
        "mode": "RGB",
        "seq": 7,
        "captured_at": 1.5,
    }
    assert screen.get("nothing", 5) == 5
    merged: dict[str, Any] = {}
    merged.update(make())
    ways = [
        make()["image"],
        make().get("image"),
        dict(make())["image"],
        {**make()}["image"],
        dict(make().items())["image"],
        next(iter(make().values())),
        make().copy()["image"],
        copy.copy(make())["image"],
        copy.deepcopy(make())["image"],
        pickle.loads(pickle.dumps(make()))["image"],
        merged["image"],
        (make() | {})["image"],
    ]
    for image in ways:
        assert isinstance(image, Image.Image)
        assert np.array_equal(np.asarray(image), array)


def test_the_array_of_fast_mode_is_the_frame_itself_and_read_only() -> None:
    array = picture()
    screen = screen_frame_observation(Frame(array, 1, 0.0))
    assert screen["array"] is array
    with pytest.raises(ValueError, match="read-only"):
        screen["array"][0, 0, 0] = 1


def test_the_image_is_made_once_and_is_the_callers_own_copy() -> None:
    base = picture()
    screen = screen_frame_observation(Frame(base[:], 1, 0.0))
    image = screen["image"]
    assert screen["image"] is image
    before = base[0, 0].tolist()
    base[:] = 200
    assert list(image.getpixel((0, 0))) == before


def test_a_detached_screen_no_longer_follows_the_frames_memory() -> None:
    base = picture()
    screen = screen_frame_observation(Frame(base[:], 1, 0.0))
    before = base.copy()
    screen.detach()  # type: ignore[attr-defined]
    base[:] = 200
    assert np.array_equal(screen["array"], before)
    assert np.array_equal(np.asarray(screen["image"]), before)


def test_the_audio_dict_and_its_samples() -> None:
    samples = b"\x01\x00\x02\x00" * 3
    assert audio_observation(AudioChunk(16000, 2, samples)) == {
        "rate": 16000,
        "channels": 2,
        "num_samples": 3,
        "s16le_b64": base64.b64encode(samples).decode(),
    }
    for rate, channels, data in ((16000, 2, b"\x01\x00"), (0, 1, b""), (8000, 0, b"")):
        with pytest.raises(CaptureFailed):
            AudioChunk(rate, channels, data)


def test_the_ui_tree_is_real_or_absent() -> None:
    assert ui_tree_observation("frame Editor\n") == {"text": "frame Editor\n"}
    assert ui_tree_observation(None) is None
    assert ui_tree_observation("  \n") is None
    with pytest.raises(ObservationError):
        ui_tree_observation({"text": "x"})  # type: ignore[arg-type]


def test_a_runners_keys_are_merged_and_never_override_cores() -> None:
    observation: dict[str, Any] = {"screen": 1}
    assert merge_runner_observation(observation, {"telemetry": [1], "screen": 2}) == ["screen"]
    assert observation == {"screen": 1, "telemetry": [1]}
    assert merge_runner_observation(observation, None) == []
    for wrong in ([], {1: 2}, "x"):
        with pytest.raises(ObservationError):
            merge_runner_observation(observation, wrong)  # type: ignore[arg-type]
