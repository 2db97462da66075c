"""Making an observation: each modality of the spec, asked of the world and put into the contract's shape."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.episode.episode import Episode
from gym_anything.episode.session import Session
from gym_anything.errors import Aborted, CaptureFailed, GymAnythingError, UnsupportedFeature, WorldLost
from gym_anything.observations.encode import check_png, write_png
from gym_anything.observations.modalities import (
    OBSERVATION_KEYS,
    AudioChunk,
    audio_observation,
    merge_runner_observation,
    screen_file_observation,
    screen_frame_observation,
    ui_tree_observation,
)

if TYPE_CHECKING:
    from gym_anything.observations.frame import Frame
    from gym_anything.specs.modality import ObservationItem

_SAVE_EVERY_S = 0.5  # fast mode keeps two pictures a second on disk for judges; encoding more would cost a core
_AUDIO_CHUNK_MS = 100.0


def observe(session: Session, episode: Episode, *, is_step: bool) -> dict[str, Any]:
    """Return a fresh observation of every modality the spec names.

    Args: is_step: it follows a step (its frame is numbered by the step).
    Raises: WorldLost, Aborted; in fast mode also what a failed capture raises. In normal mode the key is left out and
        ``episode.observation_errors`` says why.
    """
    episode.observation_errors = {}
    observation: dict[str, Any] = {}
    strangers = False
    for item in session.env_spec.observation:
        key = OBSERVATION_KEYS.get(item.type)
        if key is None or (key == "screen" and not session.runner.has_screen()):
            strangers = True
            continue
        if key in observation:
            continue
        try:
            value = _core_modality(session, episode, item, is_step=is_step)
        except (WorldLost, Aborted):
            raise
        except UnsupportedFeature as error:
            episode.observation_errors[key] = str(error)
        except (GymAnythingError, OSError) as error:  # OSError: the disk that the picture goes to
            if session.fast_io:
                raise
            episode.observation_errors[key] = str(error)
        else:
            if value is None:
                episode.observation_errors[key] = f"the world has no {key} at present"
            else:
                observation[key] = value
    if strangers:
        _ask_runner(session, episode, observation)
    return observation


def capture_picture(session: Session, target: Path) -> bool:
    """Write the present screen to ``target``; False for a world without a screen. Raises: as ``capture_frame``."""
    if not session.runner.has_screen():
        return False
    if _writes_files(session):
        _screenshot_file(session, target)
    else:
        write_png(target, session.runner.capture_frame())
    return True


def _core_modality(
    session: Session, episode: Episode, item: ObservationItem, *, is_step: bool
) -> dict[str, Any] | None:
    if item.type == "rgb_screen":
        if session.fast_io:
            return _fast_screen(session, episode, is_step=is_step)
        return _file_screen(session, episode, item, is_step=is_step)
    if item.type == "audio_waveform":
        rate = int(item.sample_rate or session.env_spec.recording.audio_rate)
        channels = int(item.channels or 1)
        seconds = float(item.chunk_duration_ms or _AUDIO_CHUNK_MS) / 1000
        samples = session.runner.capture_audio_raw(seconds, rate, channels)
        return audio_observation(AudioChunk(rate, channels, samples))
    return ui_tree_observation(session.runner.capture_ui_tree())


def _fast_screen(session: Session, episode: Episode, *, is_step: bool) -> dict[str, Any]:
    frame = session.runner.capture_frame()
    _keep_picture(session, episode, frame, is_step=is_step)
    return screen_frame_observation(frame)


def _keep_picture(session: Session, episode: Episode, frame: Frame, *, is_step: bool) -> None:
    """Hand the picture to the video and, now and then, to disk; the step does not wait for either."""
    now = time.monotonic()
    save_to: Path | None = None
    if not episode.frames or (is_step and now - episode.frame_saved_at >= _SAVE_EVERY_S):
        save_to = episode.folder.path_of_frame(episode.steps)
    if save_to is None and not episode.frame_work.wants_picture():
        return
    picture = frame.array if session.runner.pins_frames() else frame.array.copy()
    if episode.frame_work.offer(picture, save_to=save_to) and save_to is not None:
        episode.frame_saved_at = now
        _list_frame(episode, save_to, is_step=is_step)


def _file_screen(session: Session, episode: Episode, item: ObservationItem, *, is_step: bool) -> dict[str, Any]:
    target = episode.folder.path_of_frame(episode.steps)
    if target in episode.frames and not is_step:  # asked for between two steps: not one of the numbered frames
        target = episode.folder.path / f"frame_{episode.steps:05d}_{time.monotonic_ns()}.png"
    png: bytes | None = None
    if _writes_files(session):
        size = _screenshot_file(session, target)
        png = target.read_bytes() if item.inline else None
        if episode.frame_work.wants_picture():
            episode.frame_work.offer(_picture_of_file(target))
    else:
        frame = session.runner.capture_frame()
        written = write_png(target, frame)
        png, size = (written if item.inline else None), (frame.width, frame.height)
        if episode.frame_work.wants_picture():
            episode.frame_work.offer(frame.array if session.runner.pins_frames() else frame.array.copy())
    _list_frame(episode, target, is_step=is_step)
    return screen_file_observation(target, resolution=size, png=png)


def _list_frame(episode: Episode, path: Path, *, is_step: bool) -> None:
    episode.frames.append(path)
    if is_step:
        episode.step_frames.append(path)


def _writes_files(session: Session) -> bool:
    """Tell whether the world writes screenshot files itself (normal mode keeps to that)."""
    return not session.fast_io and session.runner.overrides(["capture_screenshot"])


def _screenshot_file(session: Session, target: Path) -> tuple[int, int]:
    if session.runner.capture_screenshot(target) is False:
        raise CaptureFailed(f"{session.runner_name} wrote no screenshot")
    return check_png(target)


def _picture_of_file(path: Path) -> Any:
    import numpy as np
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def _ask_runner(session: Session, episode: Episode, observation: dict[str, Any]) -> None:
    """Merge what the world observes by itself; its own types are named by the spec."""
    try:
        given = session.runner.capture_observation()
        held_back = merge_runner_observation(observation, given)
    except (WorldLost, Aborted):
        raise
    except GymAnythingError as error:
        if session.fast_io:
            raise
        episode.observation_errors["runner"] = str(error)
        return
    if not given:
        unknown = [item.type for item in session.env_spec.observation if item.type not in OBSERVATION_KEYS]
        episode.observation_errors.update(dict.fromkeys(unknown, "this world has nothing of the kind"))
    for key in held_back:
        episode.observation_errors[key] = f"the runner's own {key!r} was left out: core observes it"
    wants_screen = any(OBSERVATION_KEYS.get(item.type) == "screen" for item in session.env_spec.observation)
    if wants_screen and "screen" not in observation:
        episode.observation_errors["screen"] = "the spec names rgb_screen, but this world has no screen"
