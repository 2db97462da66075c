"""The life of a world: it comes up, it goes, at every stage and from every thread, and nothing is left."""

from __future__ import annotations

import time

from gym_anything.errors import GymAnythingError
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import STOP_LIMIT_S, ConformanceCase, is_refusal
from gym_anything.testing.conformance.interrupting import in_main_thread, interrupted

MOMENTS_S = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)


class LifecycleChecks(ConformanceCase):
    """Start and stop. Each fresh world is also checked for what it leaves."""

    def test_start_then_stop_leaves_nothing(self) -> None:
        runner = self.fresh()
        self.look_at(runner)
        self.bounded(runner.stop, STOP_LIMIT_S)

    def test_stop_without_start_does_nothing(self) -> None:
        runner = self.fresh(started=False)
        self.bounded(runner.stop, STOP_LIMIT_S)

    def test_stop_twice_does_nothing_more(self) -> None:
        runner = self.fresh()
        self.bounded(runner.stop, STOP_LIMIT_S)
        self.bounded(runner.stop, STOP_LIMIT_S)

    def test_a_world_starts_again_after_stop(self) -> None:
        runner = self.fresh()
        self.bounded(runner.stop, STOP_LIMIT_S)
        self._bring_up(runner)
        self.look_at(runner)

    def test_stop_during_start_leaves_nothing(self) -> None:
        for delay_s in MOMENTS_S:
            with self.subTest(after_s=delay_s):
                runner = self.fresh(started=False)
                start = self._coming_up(runner)
                start.wait(delay_s)
                runner.abort()
                self.bounded(runner.stop, STOP_LIMIT_S)
                self.assertTrue(start.wait(STOP_LIMIT_S), "start went on after abort and stop")
                if start.error is not None and not isinstance(start.error, GymAnythingError):
                    raise start.error
                self.bounded(runner.stop, STOP_LIMIT_S)
                self.doCleanups()

    def test_an_interrupted_start_leaves_nothing(self) -> None:
        """L2: Ctrl-C during start leaves nothing once stop has returned."""
        self.needs(in_main_thread(), "signals reach the main thread only")
        for delay_s in MOMENTS_S:
            with self.subTest(after_s=delay_s):
                runner = self.fresh(started=False)
                runner.on_episode_start(self._context(runner))
                interrupted(runner.start, delay_s)
                self.bounded(runner.stop, STOP_LIMIT_S)
                self.doCleanups()

    def test_a_world_outlives_the_thread_that_started_it(self) -> None:
        runner = self.fresh(started=False)
        self._bring_up(runner)  # in a thread that has ended when this returns
        time.sleep(0)
        self.look_at(runner)

    def test_a_world_goes_on_after_a_rest(self) -> None:
        runner = self.fresh()
        for _ in range(2):  # a second word changes nothing
            runner.rest()
        runner.check_life()
        runner.check_life(deep=True)
        for _ in range(2):
            runner.go_on()
        self.look_at(runner)

    def test_a_world_that_rests_is_stopped(self) -> None:
        runner = self.fresh()
        runner.rest()
        self.bounded(runner.stop, STOP_LIMIT_S)

    def test_two_worlds_live_side_by_side(self) -> None:
        first = self.fresh()
        second = self.fresh()
        self.look_at(first)
        self.look_at(second)
        self.bounded(first.stop, STOP_LIMIT_S)
        self.look_at(second)

    def test_the_episode_context_is_taken_before_start(self) -> None:
        runner = self.fresh(started=False)
        runner.on_episode_start(self._context(runner, seed=7))
        self.bounded(runner.stop, STOP_LIMIT_S)

    def test_a_seed_is_accepted(self) -> None:
        self.look_at(self.fresh(seed=7))

    def test_a_stopped_world_shows_no_old_frames(self) -> None:
        runner = self.fresh()
        self.needs(runner.has_screen(), "this world has no screen")
        self.bounded(runner.capture_frame)
        self.bounded(runner.stop, STOP_LIMIT_S)
        try:
            frame = self.bounded(runner.capture_frame)
        except Exception as error:
            if not is_refusal(error):
                raise
        else:
            self.fail(f"a stopped world returned frame {frame.seq} as if it were alive")

    def test_runtime_info_hides_passwords(self) -> None:
        info = self.world().get_runtime_info()
        self.assertTrue(info.runner_name)
        self.assertTrue(info.platform_family)
        for secret in (info.vnc_password, info.ssh_password):
            if secret:
                self.assertNotIn(secret, repr(info))

    def look_at(self, runner: BaseRunner) -> None:
        """Use the world a little: whatever it can show must come."""
        self.assertIsInstance(self.bounded(runner.capture_observation), dict)
        if runner.has_screen():
            self.bounded(runner.capture_frame)
