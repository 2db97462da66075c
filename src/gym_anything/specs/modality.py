"""What an agent can see and what it can do: items of ``observation`` and ``action``."""

from __future__ import annotations

from gym_anything.specs.fields import Flag, Name, PositiveCount, PositiveNumber, Resolution, Text, Texts
from gym_anything.specs.spec_model import OpenSpecObject


class ObservationItem(OpenSpecObject):
    """One modality. Types that core does not know are asked of the runner; unknown keys are kept for it."""

    type: Name
    """``rgb_screen``, ``audio_waveform``, ``ui_tree``, ``cli_stdout`` or a type of the runner's own."""
    fps: PositiveNumber | None = None
    """Frames a second that the author has in mind. None: as they come."""
    resolution: Resolution | None = None
    """Screen size ``[width, height]`` in pixels. None: the runner's own."""
    sample_rate: PositiveCount | None = None
    """Audio samples a second. None: the recording's."""
    channels: PositiveCount | None = None
    """Audio channels. None: one."""
    inline: Flag = False
    """Put the PNG's base64 into the observation as well. False: a path is enough on one machine."""
    chunk_duration_ms: PositiveNumber | None = None
    """Length of one audio observation in milliseconds. None: since the last one."""


class ActionItem(OpenSpecObject):
    """One kind of action that the environment takes; unknown keys are kept for the runner."""

    type: Name
    """``mouse``, ``keyboard``, ``voice``, ``api_call`` or a type of the runner's own."""
    events: Texts = ()
    """Which events of that kind the author has in mind. Empty: all."""
    encoding: Text | None = None
    """How the argument is written, for types that have several ways. None: the type's own."""
