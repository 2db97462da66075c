"""Abort: from any thread, every blocked call ends within a second; after that only stop is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gym_anything.errors import GymAnythingError
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.bounded_call import BoundedCall
from gym_anything.testing.conformance.case import STOP_LIMIT_S, ConformanceCase
from gym_anything.testing.conformance.guest_words import words_of

ABORT_LIMIT_S = 1.0
_UNDER_WAY_S = 0.2


class AbortChecks(ConformanceCase):
    """For classes with an ``abort`` of their own; the default cannot unblock what it does not know."""

    def abortable(self, *, started: bool = True) -> BaseRunner:
        """Return a fresh world that can be aborted; skip, or fail where a bundled kind of world must."""
        can = self.subject.cls(self.subject.spec()).can_abort()
        if not can and self.subject.requires_desktop():
            self.fail("the profile promises a desktop, but the class has no abort() of its own")
        self.needs(can, "the class has no abort() of its own")
        return self.fresh(started=started)

    def ends_by_abort(self, runner: BaseRunner, act: Callable[[], Any], name: str) -> None:
        """Begin a call, abort, and check that it ends in time with a typed error or its normal answer."""
        call = BoundedCall(act, name)
        call.wait(_UNDER_WAY_S)
        began = time.monotonic()
        runner.abort()
        self.assertLess(time.monotonic() - began, ABORT_LIMIT_S, "abort() itself blocked")
        if not call.wait(ABORT_LIMIT_S):
            call.wait(STOP_LIMIT_S)
            self.fail(f"{name} went on for more than {ABORT_LIMIT_S:g} s after abort()")
        if call.error is not None and not isinstance(call.error, GymAnythingError):
            raise call.error

    def test_abort_ends_a_start(self) -> None:
        runner = self.abortable(started=False)
        runner.on_episode_start(self._context(runner))
        self.ends_by_abort(runner, runner.start, "start")

    def test_abort_before_start_refuses_the_start(self) -> None:
        runner = self.abortable(started=False)
        runner.abort()
        with self.assertRaises(GymAnythingError):
            self.bounded(runner.start)

    def test_abort_ends_a_command(self) -> None:
        self.needs(self.subject.cls.overrides(["exec"]), "this world runs no commands")
        runner = self.abortable()
        words = words_of(runner.get_platform_family())
        self.ends_by_abort(runner, lambda: runner.exec(words.sleep_30), "exec")

    def test_abort_ends_a_settle(self) -> None:
        self.needs(self.subject.cls.overrides(["capture_frame"]), "this world has no frames")
        runner = self.abortable()
        self.ends_by_abort(runner, lambda: runner.settle(quiet_ms=20000, max_ms=20000), "settle")

    def test_abort_ends_the_injecting_of_actions(self) -> None:
        runner = self.abortable()

        def inject_on() -> None:
            while True:
                runner.inject_action({"mouse": {"move": [10, 10]}})

        self.needs(self.subject.takes("mouse") and self.subject.requires_desktop(), "no mouse is promised")
        self.ends_by_abort(runner, inject_on, "inject_action")

    def test_an_aborted_world_refuses_everything_but_stop(self) -> None:
        runner = self.abortable()
        runner.abort()
        runner.abort()
        with self.assertRaises(GymAnythingError):
            self.bounded(runner.capture_observation)
        with self.assertRaises(GymAnythingError):
            self.bounded(lambda: runner.inject_action({"mouse": {"move": [10, 10]}}))
        self.bounded(runner.stop, STOP_LIMIT_S)
