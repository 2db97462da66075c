"""Observations: whole frames of the declared size, in memory and as files, in both modes; other senses as declared."""

from __future__ import annotations

import inspect
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gym_anything.observations.frame import Frame
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import ConformanceCase, is_refusal
from gym_anything.testing.conformance.subject import CORE_OBSERVATIONS

_MOST_LATENESS_S = 1.0


class ScreenChecks(ConformanceCase):
    """For worlds with a screen."""

    def seen(self) -> BaseRunner:
        """Return a world with a screen; skip, or fail where one is promised."""
        can = self.subject.cls.overrides(["capture_frame", "capture_screenshot_image", "capture_screenshot"])
        promised = self.subject.requires_desktop() or self.subject.shows("rgb_screen")
        if not can and promised:
            self.fail("a screen is promised (by the profile or the spec), but the class captures none")
        self.needs(can, "this world has no screen")
        return self.world()

    def check_frame(self, runner: BaseRunner, frame: Frame) -> None:
        """Check one frame's form."""
        self.assertEqual(frame.array.dtype.name, "uint8")
        self.assertEqual(frame.array.shape[2], 3)
        size = runner.screen_size()
        if size is not None:
            self.assertEqual((frame.width, frame.height), size)
        if self.subject.requires_desktop():
            self.assertGreater(int(np.ptp(frame.array)), 0, "the screen is empty: one colour only")

    def test_a_frame_is_whole_and_of_the_declared_size(self) -> None:
        """S1, S5: never empty, and a ready desktop shows something."""
        runner = self.seen()
        self.check_frame(runner, self.bounded(runner.capture_frame))

    def test_frames_are_numbered_and_timed_in_order(self) -> None:
        runner = self.seen()
        frames = [self.bounded(runner.capture_frame) for _ in range(3)]
        for earlier, later in itertools.pairwise(frames):
            self.assertGreater(later.seq, earlier.seq)
            self.assertGreaterEqual(later.captured_at, earlier.captured_at)
            self.assertGreaterEqual(later.after_input, earlier.after_input)

    def test_a_frame_is_not_older_than_its_request(self) -> None:
        runner = self.seen()
        self.needs(not runner.supports_time_control(), "this world measures time by its own clock")
        asked = time.monotonic()
        frame = self.bounded(runner.capture_frame)
        self.assertGreaterEqual(frame.captured_at, asked - _MOST_LATENESS_S)
        self.assertLessEqual(frame.captured_at, time.monotonic() + 0.001)

    def test_a_frame_follows_the_acknowledged_input(self) -> None:
        """S2: the frame a step returns is not from before its input."""
        runner = self.seen()
        self.needs(runner.acks_input_delivery() and self.subject.takes("mouse"), "input is not acknowledged here")
        before = self.bounded(runner.capture_frame).after_input
        self.bounded(lambda: runner.inject_action({"mouse": {"move": [20, 20]}}))
        after = self.bounded(lambda: runner.capture_frame(after_input=before + 1))
        self.assertGreaterEqual(after.after_input, before + 1)

    def test_a_screenshot_file_is_a_whole_png(self) -> None:
        runner = self.seen()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deep" / "shot.png"
            self.assertIsNot(self.bounded(lambda: runner.capture_screenshot(str(path))), False)
            with Image.open(path) as image:
                image.load()
                self.assertEqual(image.format, "PNG")
                self.assertEqual(image.size, runner.screen_size() or image.size)
            self.assertEqual([p.name for p in path.parent.iterdir()], ["shot.png"])

    def test_a_screenshot_image_is_the_callers_own(self) -> None:
        runner = self.seen()
        first = self.bounded(runner.capture_screenshot_image)
        self.assertEqual(first.mode, "RGB")
        first.paste((1, 2, 3), (0, 0, 4, 4))
        second = self.bounded(runner.capture_screenshot_image)
        self.assertEqual(second.size, first.size)
        self.assertIsNot(second, first)

    def test_settle_returns_within_its_bound(self) -> None:
        runner = self.seen()
        began = time.monotonic()
        result = self.bounded(lambda: runner.settle(quiet_ms=50, max_ms=400))
        self.assertIsInstance(result.settled, bool)
        self.assertLess(time.monotonic() - began, 3.0)

    def test_settle_leaves_out_the_boxes_it_is_given_and_names_them(self) -> None:
        runner = self.seen()
        self.needs("ignore" in inspect.signature(runner.settle).parameters, "this world's settle takes no boxes")
        frame = self.bounded(runner.capture_frame)
        whole = (0, 0, frame.width, frame.height)
        result = self.bounded(lambda: runner.settle(quiet_ms=50, max_ms=2000, ignore=[whole]))
        self.assertTrue(result.settled, "nothing counts, so the screen is at rest")
        self.assertIn(whole, result.ignored)

    def test_fast_mode_shows_the_same_screen(self) -> None:
        self.seen()
        probe = self.subject.cls(self.subject.spec())
        if not probe.supports_fast_io():
            with self.assertRaises(Exception) as caught:
                probe.set_fast_io(True)
            self.assertTrue(is_refusal(caught.exception), repr(caught.exception))
            return
        runner = self.fresh(started=False)
        runner.set_fast_io(True)
        self._bring_up(runner)
        self.check_frame(runner, self.bounded(runner.capture_frame))
        self.check_frame(runner, self.bounded(runner.capture_frame))


class ObservationChecks(ConformanceCase):
    """The senses other than the screen, and the world's own."""

    def test_an_observation_is_a_fresh_dict(self) -> None:
        runner = self.world()
        first = self.bounded(runner.capture_observation)
        self.assertIsInstance(first, dict)
        first["conformance_mark"] = True
        self.assertNotIn("conformance_mark", self.bounded(runner.capture_observation))

    def test_declared_types_of_the_worlds_own_are_answered(self) -> None:
        own = [item.type for item in self.subject.spec().observation if item.type not in CORE_OBSERVATIONS]
        self.needs(bool(own) and self.subject.declared_observations, "the spec declares no type of the world's own")
        answer: dict[str, Any] = self.bounded(self.world().capture_observation)
        self.assertTrue(answer, f"the spec declares {own}, but capture_observation returned nothing")

    def test_declared_sound_has_the_asked_length(self) -> None:
        self.needs(self.subject.shows("audio_waveform"), "the spec declares no sound")
        runner = self.world()
        raw = self.bounded(lambda: runner.capture_audio_raw(0.25, 8000, 2))
        self.assertIsInstance(raw, bytes)
        self.assertEqual(len(raw), 2000 * 2 * 2)

    def test_a_declared_ui_tree_is_there(self) -> None:
        self.needs(self.subject.shows("ui_tree"), "the spec declares no ui_tree")
        self.assertTrue(self.bounded(self.world().capture_ui_tree).strip())

    def test_an_undeclared_sense_is_refused_or_real(self) -> None:
        runner = self.world()
        for act in (runner.capture_ui_tree, lambda: runner.capture_audio_raw(0.1, 8000, 1)):
            try:
                self.assertTrue(self.bounded(act), "a dummy was returned instead of a refusal")
            except Exception as error:
                if not is_refusal(error):
                    raise
