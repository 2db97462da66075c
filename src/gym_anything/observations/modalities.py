"""The dicts of an observation: which modality goes under which key, and in what shape.

Core knows three modality types; ``OBSERVATION_KEYS`` maps each to its key in the observation. A spec may name others:
those are asked of the runner and merged by ``merge_runner_observation``, never dropped and never over a key of core's.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.errors import CaptureFailed, ObservationError

if TYPE_CHECKING:
    from gym_anything.observations.frame import Frame

OBSERVATION_KEYS = {"rgb_screen": "screen", "audio_waveform": "audio", "ui_tree": "ui_tree"}
"""Modality type of the spec to key in the observation dict."""


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A piece of sound: signed 16-bit little-endian PCM, channels interleaved.

    Attributes:
        rate: samples a second of one channel.
        channels: 1 or more.
        samples: the raw bytes; ``2 * channels`` bytes are one moment.
    """

    rate: int
    channels: int
    samples: bytes

    def __post_init__(self) -> None:
        if self.rate < 1 or self.channels < 1:
            raise CaptureFailed(f"sound needs a rate and channels, got {self.rate} Hz, {self.channels} channels")
        if len(self.samples) % (2 * self.channels):
            raise CaptureFailed(f"{len(self.samples)} bytes are no whole number of {self.channels}-channel samples")

    @property
    def num_samples(self) -> int:
        """Moments in this chunk (samples of one channel)."""
        return len(self.samples) // (2 * self.channels)


def screen_file_observation(path: Path, *, resolution: tuple[int, int] | None, png: bytes | None) -> dict[str, Any]:
    """Return ``screen`` of normal mode.

    Args:
        path: the PNG in the episode folder.
        resolution: (width, height) of the picture, when known.
        png: the file's bytes when the spec says ``inline``.
    Returns: ``{"path", "resolution"?, "png_b64"?}``; ``path`` is a string, ``resolution`` a list.
    """
    screen: dict[str, Any] = {"path": str(path)}
    if resolution is not None:
        screen["resolution"] = list(resolution)
    if png is not None:
        screen["png_b64"] = base64.b64encode(png).decode("ascii")
    return screen


def screen_frame_observation(frame: Frame) -> dict[str, Any]:
    """Return ``screen`` of fast mode.

    Returns: a dict with ``image`` (PIL, the caller's own copy, made when it is first asked for), ``format`` "pil",
        ``resolution`` [width, height], ``mode`` "RGB", and ours: ``array`` (H, W, 3) uint8, read-only, without a copy,
        valid until the next step or capture of the same environment; ``seq``; ``captured_at`` in seconds.
    """
    from gym_anything.observations.screen import FastScreen

    return FastScreen(frame)


def audio_observation(chunk: AudioChunk) -> dict[str, Any]:
    """Return ``audio``: ``{"rate", "channels", "num_samples", "s16le_b64"}``."""
    return {
        "rate": chunk.rate,
        "channels": chunk.channels,
        "num_samples": chunk.num_samples,
        "s16le_b64": base64.b64encode(chunk.samples).decode("ascii"),
    }


def ui_tree_observation(text: str | None) -> dict[str, Any] | None:
    """Return ``ui_tree`` as ``{"text": …}``, or None (leave the key out) when the world has no accessibility tree.

    A blank text is no tree either: a dummy is never reported as one.
    Raises: ObservationError when it is not text.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ObservationError(f"an accessibility tree is text, got {type(text).__name__}")
    return {"text": text} if text.strip() else None


def merge_runner_observation(observation: dict[str, Any], extra: Mapping[str, Any] | None) -> list[str]:
    """Add what a runner observed to ``observation``; a key that core filled stays as it is.

    Returns: the runner's keys that were not taken because core has them, for ``info`` to name.
    Raises: ObservationError when ``extra`` is not a dict with string keys.
    """
    if extra is None:
        return []
    if not isinstance(extra, Mapping) or not all(isinstance(key, str) for key in extra):
        raise ObservationError(f"capture_observation() must return a dict with string keys, got {extra!r:.120}")
    held_back = [key for key in extra if key in observation]
    observation.update({key: value for key, value in extra.items() if key not in observation})
    return held_back
