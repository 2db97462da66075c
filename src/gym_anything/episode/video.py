"""One mp4 file made of screen pictures as they come, each shown until the next."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.errors import HostError

if TYPE_CHECKING:
    from gym_anything.observations.frame import RgbArray
    from gym_anything.specs.recording import Recording

_TICKS_PER_S = 1000
_FALLBACK_CODEC = "mpeg4"
# Fragments: whoever is killed leaves a file that plays up to the last one.
_CONTAINER_OPTIONS = {"movflags": "empty_moov+default_base_moof", "frag_duration": "2000000", "flush_packets": "1"}
_KEYFRAME_EVERY = 50


class Video:
    """Writes pictures with their time; variable frame rate, so a still screen costs nothing. One thread at a time."""

    def __init__(self, path: Path, recording: Recording) -> None:
        """Remember what to write; the file begins with the first picture, whose size decides the video's."""
        self._path = path
        self._recording = recording
        self._container: Any = None
        self._stream: Any = None
        self._audio: Any = None
        self._last_tick = -1
        self._last_picture: RgbArray | None = None
        self.codec = recording.video_codec
        self.notes: list[str] = []

    @property
    def started(self) -> bool:
        """Tell whether a picture was written."""
        return self._container is not None

    def add(self, picture: RgbArray, at_s: float) -> None:
        """Show ``picture`` (RGB, uint8) from ``at_s`` seconds after the beginning on."""
        import av

        if self._container is None:
            self._open(picture)
        tick = max(self._last_tick + 1, round(at_s * _TICKS_PER_S))
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        # One thread: newer versions keep those that they start for it.
        frame = frame.reformat(width=self._stream.width, height=self._stream.height, format="yuv420p", threads=1)
        frame.pts, frame.time_base = tick, Fraction(1, _TICKS_PER_S)
        for packet in self._stream.encode(frame):
            self._container.mux(packet)
        self._last_tick, self._last_picture = tick, picture

    def close(self, at_s: float) -> None:
        """End the file; the last picture stays until ``at_s``. Idempotent; without pictures there is no file."""
        if self._container is None:
            return
        try:
            if self._last_picture is not None and round(at_s * _TICKS_PER_S) > self._last_tick:
                self.add(self._last_picture, at_s)
            for packet in self._stream.encode(None):
                self._container.mux(packet)
            self._write_silence(self._last_tick / _TICKS_PER_S)
        finally:
            self._container.close()
            self._container = self._stream = self._audio = self._last_picture = None

    def _open(self, picture: RgbArray) -> None:
        import av

        width, height = self._recording.video_resolution or (picture.shape[1], picture.shape[0])
        width, height = max(2, width - width % 2), max(2, height - height % 2)  # 4:2:0 needs even sizes
        self._container = av.open(str(self._path), "w", format="mp4", options=_CONTAINER_OPTIONS)
        try:
            self._stream = self._video_stream(self._container, width, height)
            if self._recording.force_audio_track:
                self._audio = self._container.add_stream(self._recording.audio_codec, rate=self._recording.audio_rate)
                self._audio.layout = "stereo" if self._recording.audio_channels > 1 else "mono"
        except BaseException:
            self._container.close()
            self._container = None
            self._path.unlink(missing_ok=True)
            raise

    def _video_stream(self, container: Any, width: int, height: int) -> Any:
        import av

        rate = Fraction(self._recording.video_fps).limit_denominator(1000)
        try:
            av.codec.Codec(self.codec, "w")
        except ValueError:  # av's UnknownCodecError: this build of the library lacks it
            self.notes.append(f"recording: no encoder {self.codec!r} here, used {_FALLBACK_CODEC}")
            self.codec = _FALLBACK_CODEC
        try:
            stream = container.add_stream(self.codec, rate=rate)
        except ValueError as error:
            raise HostError(f"no video can be recorded with {self.codec}: {error}") from error
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = Fraction(1, _TICKS_PER_S)
        stream.codec_context.gop_size = _KEYFRAME_EVERY
        stream.codec_context.thread_count = 1
        if self.codec.startswith("libx26"):
            stream.options = {"preset": "ultrafast", "tune": "zerolatency", "crf": str(self._recording.video_crf)}
        return stream

    def _write_silence(self, seconds: float) -> None:
        if self._audio is None:
            return
        import av
        import numpy as np

        context = self._audio.codec_context
        rate, channels = self._recording.audio_rate, 2 if self._recording.audio_channels > 1 else 1
        size = context.frame_size or 1024
        for start in range(0, int(seconds * rate), size):
            frame = av.AudioFrame.from_ndarray(
                np.zeros((channels, size), np.float32), format="fltp", layout="stereo" if channels == 2 else "mono"
            )
            frame.sample_rate, frame.pts = rate, start
            for packet in self._audio.encode(frame):
                self._container.mux(packet)
        for packet in self._audio.encode(None):
            self._container.mux(packet)
