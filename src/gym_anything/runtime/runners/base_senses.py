"""The senses part of the runner contract: the screen, sound and the accessibility tree."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gym_anything._util.deadline import Deadline
from gym_anything.actions.model import Box
from gym_anything.runtime.runners.base_facts import RunnerFacts

if TYPE_CHECKING:
    from PIL.Image import Image

    from gym_anything.observations.frame import Frame
    from gym_anything.runtime.runners.abort import AbortSignal
    from gym_anything.specs.env_spec import EnvSpec

SCREEN_METHODS = ("capture_frame", "capture_screenshot_image", "capture_screenshot")
_SETTLE_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class SettleResult:
    """What ``settle`` found: whether the screen came to rest, and how long that took in milliseconds.

    Attributes:
        ignored: the boxes in which changes did not count: those that were given, and those that a world has learnt to
            blink by itself and that did so meanwhile.
    """

    settled: bool
    waited_ms: float
    ignored: tuple[Box, ...] = ()


class SenseAccess(RunnerFacts):
    """Screen, sound, tree. Called in READY only.

    Override *one* of ``capture_frame``, ``capture_screenshot_image`` and ``capture_screenshot``; the other two follow.
    ``capture_frame`` is the one to choose: it alone can say which input a frame follows.
    """

    spec: EnvSpec
    _frames_made: int = 0

    @property
    def abort_signal(self) -> AbortSignal:
        """See ``BaseRunner``."""
        raise NotImplementedError

    def has_screen(self) -> bool:
        """Tell whether this world has a screen to capture; derived from what the class overrides."""
        return self.overrides(SCREEN_METHODS)

    def screen_size(self) -> tuple[int, int] | None:
        """Return (width, height) of the screen in guest pixels, or None for a world without a screen.

        Called: in every state. The default is what the spec declares for ``rgb_screen``; a started world that knows
        better overrides it.
        """
        for observation in getattr(self.spec, "observation", None) or ():
            resolution = getattr(observation, "resolution", None)
            if getattr(observation, "type", None) == "rgb_screen" and resolution:
                return int(resolution[0]), int(resolution[1])
        return None

    def capture_frame(self, after_input: int | None = None) -> Frame:
        """Return the newest complete frame, never torn.

        Args:
            after_input: number of an acknowledged input (``Frame.after_input`` counts them); the frame is not older
                than it. None asks for the newest frame that is not older than this call.
        Returns: RGB, uint8, (H, W, 3), origin top-left, unscaled; ``seq`` strictly increasing. Its array is valid until
            the next capture or step.
        Blocks: seconds at most. Raises: CaptureFailed (empty or torn), FrameStale, WorldLost, Aborted.
        The default makes one from a screenshot taken now.
        """
        import numpy as np

        from gym_anything.observations.frame import Frame

        if not self.overrides(SCREEN_METHODS[1:]):
            raise self.unsupported("capture_frame", "this world has no screen")
        array = np.ascontiguousarray(np.asarray(self.capture_screenshot_image().convert("RGB"), dtype=np.uint8))
        self._frames_made += 1
        return Frame(array=array, seq=self._frames_made, captured_at=time.monotonic(), after_input=after_input or 0)

    def pins_frames(self) -> bool:
        """Tell whether a captured frame's array stays as it is for as long as somebody holds it.

        With False (the default, and what ``capture_frame`` promises at least) core copies what it keeps beyond the
        next capture.
        """
        return False

    def capture_screenshot_image(self) -> Image:
        """Return the screen as a PIL image, mode RGB, the caller's own copy."""
        from PIL import Image

        if self.overrides(["capture_frame"]):
            return Image.fromarray(self.capture_frame().array.copy(), mode="RGB")
        if self.overrides(["capture_screenshot"]):
            return self._image_by_file()
        raise self.unsupported("capture_screenshot_image", "this world has no screen")

    def capture_screenshot(self, path: str | Path) -> bool:
        """Write the screen to ``path`` as PNG, whole or not at all.

        Returns: True. Raises: as ``capture_frame``. (Older runners return False on failure; core treats that as
        CaptureFailed.)
        """
        if not self.overrides(SCREEN_METHODS[:2]):
            raise self.unsupported("capture_screenshot", "this world has no screen")
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        try:
            self.capture_screenshot_image().save(partial, format="PNG")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return True

    def settle(self, quiet_ms: float = 100, max_ms: float = 2000, ignore: Sequence[Box] = ()) -> SettleResult:
        """Return once the screen has not changed for ``quiet_ms``, or after ``max_ms``.

        The default compares captured frames; a runner that knows its damage does better. One may also leave out what it
        has seen to blink (a caret, a clock), and then says so in ``SettleResult.ignored``.

        Args: ignore: boxes inside the screen in which changes do not count; at most 16.
        """
        began = time.monotonic()
        bound = Deadline.after(max_ms / 1000)
        last = self._picture_without(ignore)
        quiet_since = began
        while True:
            now = time.monotonic()
            if (now - quiet_since) * 1000 >= quiet_ms:
                return SettleResult(True, (now - began) * 1000, tuple(ignore))
            if bound.expired():
                return SettleResult(False, (now - began) * 1000, tuple(ignore))
            self.abort_signal.wait(bound.tightened(_SETTLE_POLL_S), "settle")
            newest = self._picture_without(ignore)
            if newest != last:
                last, quiet_since = newest, time.monotonic()

    def _picture_without(self, boxes: Sequence[Box]) -> bytes:
        array = self.capture_frame().array
        if boxes:
            array = array.copy()
        for x, y, width, height in boxes:
            array[y : y + height, x : x + width] = 0
        return array.tobytes()

    def capture_audio_raw(self, duration_sec: float, rate: int, channels: int) -> bytes:
        """Record ``duration_sec`` of sound: signed 16-bit little-endian samples, interleaved."""
        raise self.unsupported("audio_waveform", "this world has no sound")

    def capture_ui_tree(self) -> str:
        """Return the desktop's real accessibility tree as text. Never a dummy: without one this raises."""
        raise self.unsupported("ui_tree", "this world has no accessibility tree")

    def _image_by_file(self) -> Image:
        """Read back what ``capture_screenshot`` writes."""
        import tempfile

        from PIL import Image

        from gym_anything.errors import CaptureFailed

        with tempfile.TemporaryDirectory(prefix="gym-anything-shot-") as folder:
            path = Path(folder) / "screen.png"
            if self.capture_screenshot(path) is False or not path.exists():
                raise CaptureFailed(f"{self.runner_name()}.capture_screenshot wrote no picture")
            with Image.open(path) as image:
                return image.convert("RGB")
