"""The fake world's senses: frames, sound, a tree of what is on its screen."""

from __future__ import annotations

import math
import struct
import time

from gym_anything.errors import FrameStale
from gym_anything.observations.frame import Frame
from gym_anything.testing.fakes.core import FakeCore

_TICKS_PER_S = 10


class FakeSenses(FakeCore):
    """What can be seen and heard of a fake world."""

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """See ``SenseAccess.capture_frame``: drawn now, so never older than any input."""
        self.require_ready("capture_frame")
        if after_input is not None and after_input > self.inputs_acknowledged:
            raise FrameStale(
                f"input {after_input} was not acknowledged yet; the last one is {self.inputs_acknowledged}"
            )
        self.frames_made += 1
        return Frame(
            array=self.screen.render(tick=int(self.clock.now() * _TICKS_PER_S)),
            seq=self.frames_made,
            captured_at=self.clock.now() if self.options.time_control else time.monotonic(),
            after_input=self.inputs_acknowledged,
        )

    def capture_audio_raw(self, duration_sec: float, rate: int, channels: int) -> bytes:
        """Return a 440 Hz tone."""
        self.require_ready("capture_audio_raw")
        samples = (int(8000 * math.sin(2 * math.pi * 440 * n / rate)) for n in range(int(duration_sec * rate)))
        return b"".join(struct.pack("<h", sample) * channels for sample in samples)

    def capture_ui_tree(self) -> str:
        """Return the one window and its text field as they are."""
        self.require_ready("capture_ui_tree")
        x, y = self.screen.pointer
        return (
            f"[desktop] {self.screen.width}x{self.screen.height}\n"
            f"  [text field] {self.typed!r}\n"
            f"  [pointer] {x},{y}\n"
            f"  [held] {' '.join(sorted(self.held))}\n"
        )
