"""What is kept of an episode."""

from __future__ import annotations

from pydantic import Field

from gym_anything.specs.fields import Count, Flag, Name, PositiveCount, PositiveNumber, Resolution
from gym_anything.specs.spec_model import SpecObject


class Recording(SpecObject):
    """Artifacts and the video of an episode."""

    enable: Flag = True
    """Record a video. True: a verdict without a picture convinces nobody."""
    output_dir: Name = "./artifacts"
    """Folder for episode folders; relative to the working folder."""
    video_fps: PositiveNumber = 10
    """Frames a second. 10 is enough for a desktop."""
    video_resolution: Resolution | None = None
    """Size of the video in pixels. None: the screen's."""
    video_codec: Name = "libx264"
    """Encoder. libx264 plays everywhere."""
    video_crf: Count = Field(default=23, le=63)
    """Quality, lower is better. 23 is the encoder's own default."""
    audio_rate: PositiveCount = 44100
    """Audio samples a second, where the world has sound."""
    audio_channels: PositiveCount = 2
    """Audio channels."""
    audio_codec: Name = "aac"
    """Audio encoder. aac goes with mp4."""
    force_audio_track: Flag = False
    """Write a silent audio track where the world has no sound. False."""
