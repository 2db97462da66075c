"""Time: a world with its own clock takes its waits itself."""

from __future__ import annotations

from gym_anything.testing.conformance.case import ConformanceCase


class TimeChecks(ConformanceCase):
    """For worlds that say ``supports_time_control()``."""

    def test_the_answers_about_time_and_input_do_not_change(self) -> None:
        runner = self.world()
        for ask in (runner.supports_time_control, runner.acks_input_delivery, runner.supports_fast_io):
            self.assertIsInstance(ask(), bool)
            self.assertEqual(ask(), ask())

    def test_wait_actions_are_taken(self) -> None:
        runner = self.world()
        self.needs(runner.supports_time_control(), "core waits for this world by the wall clock")
        for wait in ({"action": "wait", "time": 0.5}, {"action": "wait", "time": 0}):
            self.bounded(lambda wait=wait: runner.inject_action(dict(wait)))  # type: ignore[misc]
