"""Steps: what comes back, in normal and in fast mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gym_anything.errors import (
    CaptureFailed,
    ObservationError,
    UnsupportedFeature,
)
from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.episode.fake_envs import fake_env

pytestmark = pytest.mark.unit


CLICK = {"mouse": {"left_click": [0, 0]}}


TYPE = {"keyboard": {"text": "a"}}


def locator(cls: type) -> str:
    return f"{__name__}:{cls.__name__}"


class FaultyEyes(FakeWorld):
    """Its screen cannot be captured once ``blind`` is set."""

    blind = False

    def capture_frame(self, after_input: int | None = None) -> Frame:
        if self.blind:
            raise CaptureFailed("the frame was torn")
        return super().capture_frame(after_input)


class ReusingWorld(FakeWorld):
    """It draws every frame into the same memory, as the contract lets a runner do."""

    def capture_frame(self, after_input: int | None = None) -> Frame:
        fresh = super().capture_frame(after_input)
        buffer = self.__dict__.setdefault("_buffer", np.zeros_like(fresh.array))
        buffer.flags.writeable = True
        buffer[:] = fresh.array
        view = buffer.view()
        return Frame(view, fresh.seq, fresh.captured_at, fresh.after_input)


class TextWorld(BaseRunner):
    """A world without a screen or a shell, with observations of its own."""

    def start(self, seed: int | None = None) -> None: ...
    def stop(self) -> None: ...
    def run_reset(self, script: str, seed: int | None = None) -> None: ...
    def run_task_init(self, script: str) -> None: ...
    def inject_action(self, action: dict[str, Any]) -> Any: ...

    def capture_observation(self) -> dict[str, Any]:
        return {"telemetry": {"joints": [1, 2]}, "extra": 5, "ui_tree": "the runner's own"}

    def capture_ui_tree(self) -> str:
        return "core's tree"


class FileWorld(FakeWorld):
    """An older world that writes screenshot files and nothing else."""

    empty = False

    def capture_screenshot(self, path: str | Path) -> bool:
        Path(path).write_bytes(b"")
        if not self.empty:
            Image.new("RGB", (8, 8), (1, 2, 3)).save(path, format="PNG")
        return True


class PlainWorld(FakeWorld):
    """A world without observations of its own."""

    def capture_observation(self) -> dict[str, Any]:
        return {}


def test_the_first_frame_and_the_one_after_the_first_step_have_different_names(tmp_path: Path) -> None:
    with fake_env(tmp_path) as env:
        first = env.reset()["screen"]["path"]
        second = env.step(CLICK)[0]["screen"]["path"]
        again = env.capture_observation()["screen"]["path"]
        assert Path(first).name == "frame_00000.png" and Path(second).name == "frame_00001.png"
        assert again not in (first, second) and Path(again).is_file()


def test_normal_mode_gives_paths_sizes_and_bytes_when_inline(tmp_path: Path) -> None:
    observation = [{"type": "rgb_screen", "resolution": [64, 48], "inline": True}]
    with fake_env(tmp_path, observation=observation) as env:
        screen = env.reset()["screen"]
        assert set(screen) == {"path", "resolution", "png_b64"} and screen["resolution"] == [64, 48]


def test_fast_mode_gives_images_and_arrays(tmp_path: Path) -> None:
    with fake_env(tmp_path, fast_io=True) as env:
        env.reset()
        screen = env.step(TYPE)[0]["screen"]
        assert screen["format"] == "pil" and screen["mode"] == "RGB" and screen["resolution"] == [64, 48]
        assert screen["image"].size == (64, 48) and screen["array"].shape == (48, 64, 3)
        assert not screen["array"].flags.writeable
        assert screen["seq"] > 0


def test_a_held_observation_survives_a_world_that_reuses_its_memory(tmp_path: Path) -> None:
    """The image is the caller's own copy, whenever it is first looked at."""
    with fake_env(tmp_path, fast_io=True, runner=locator(ReusingWorld)) as env:
        before = env.reset()["screen"]
        expected = before["array"].copy()
        env.step([{"mouse": {"left_click_drag": [[5, 5], [50, 40]]}}, TYPE])
        after = env.capture_observation()["screen"]
        assert not np.array_equal(expected, after["array"]), "the world has changed"
        assert np.array_equal(before["array"], expected)
        assert np.array_equal(np.asarray(before["image"]), expected)


def test_a_step_may_leave_the_observation_out(tmp_path: Path) -> None:
    with fake_env(tmp_path, fast_io=True) as env:
        env.reset()
        made = env.runner.frames_made  # type: ignore[attr-defined]
        assert env.step(CLICK, capture_observation=False)[0] == {}
        assert env.runner.frames_made == made  # type: ignore[attr-defined]


def test_a_failed_capture_raises_in_fast_mode_and_is_said_in_normal_mode(tmp_path: Path) -> None:
    """S1: an empty or torn frame is an error, not an image."""
    with fake_env(tmp_path, fast_io=True, runner=locator(FaultyEyes)) as env:
        env.reset()
        env.runner.blind = True  # type: ignore[attr-defined]
        with pytest.raises(CaptureFailed):
            env.step(CLICK)
    with fake_env(tmp_path, runner=locator(FaultyEyes)) as env:
        env.reset()
        env.runner.blind = True  # type: ignore[attr-defined]
        observation, _, done, info = env.step(CLICK)
        assert "screen" not in observation and not done
        assert "torn" in info["observation_errors"]["screen"]


def test_an_empty_screenshot_file_is_an_error(tmp_path: Path) -> None:
    """S1."""
    with fake_env(tmp_path, runner=locator(FileWorld)) as env:
        assert env.reset()["screen"]["resolution"] == [8, 8]
        env.runner.empty = True  # type: ignore[attr-defined]
        observation, _, _, info = env.step([])
        assert "screen" not in observation and "screen" in info["observation_errors"]


def test_observations_of_the_worlds_own_are_merged_and_never_override(tmp_path: Path) -> None:
    with fake_env(
        tmp_path, runner=locator(TextWorld), observation=[{"type": "telemetry"}, {"type": "ui_tree"}], runner_options={}
    ) as env:
        observation = env.reset()
        assert observation["telemetry"] == {"joints": [1, 2]} and observation["extra"] == 5
        assert observation["ui_tree"] == {"text": "core's tree"}
        _, _, _, info = env.step([])
        assert "ui_tree" in info["observation_errors"]


def test_an_observation_of_a_kind_that_the_world_does_not_have_is_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(PlainWorld), observation=[{"type": "rgb_screen"}, {"type": "lidar"}]) as env:
        env.reset()
        observation, _, _, info = env.step([])
        assert list(observation) == ["screen"]
        assert info["observation_errors"] == {"lidar": "this world has nothing of the kind"}


def test_a_screen_that_the_world_does_not_have_is_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(TextWorld)) as env:
        assert "screen" not in env.reset()
        assert "no screen" in env.step([])[3]["observation_errors"]["screen"]


def test_sound_and_tree_have_the_contracts_shape(tmp_path: Path) -> None:
    observation = [{"type": "audio_waveform", "sample_rate": 8000, "chunk_duration_ms": 50}, {"type": "ui_tree"}]
    with fake_env(tmp_path, observation=observation) as env:
        seen = env.reset()
        assert seen["audio"]["rate"] == 8000 and seen["audio"]["num_samples"] == 400
        assert seen["ui_tree"]["text"]


def test_a_sense_that_the_world_lacks_is_absent_and_said(tmp_path: Path) -> None:
    with fake_env(tmp_path, runner=locator(TextWorld), observation=[{"type": "audio_waveform"}]) as env:
        assert env.reset() == {}
        assert "no sound" in env.step([])[3]["observation_errors"]["audio"]


def test_fast_io_that_the_world_lacks_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature) as error:
        fake_env(tmp_path, runner=locator(TextWorld), fast_io=True)
    assert error.value.detail["feature"] == "fast_io"


def test_an_observation_of_nonsense_is_a_typed_error(tmp_path: Path) -> None:
    with (
        fake_env(tmp_path, runner=locator(NonsenseWorld), observation=[{"type": "telemetry"}], fast_io=True) as env,
        pytest.raises(ObservationError),
    ):
        env.reset()


class NonsenseWorld(FakeWorld):
    """Its own observation is no dict."""

    def capture_observation(self) -> dict[str, Any]:
        return [1, 2]  # type: ignore[return-value]
