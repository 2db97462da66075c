"""The base of all checks: worlds that are always stopped, never left, and never waited for without a bound."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable
from typing import Any, ClassVar

from gym_anything.errors import GymAnythingError
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.facts import runner_status
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.testing.conformance.bounded_call import BoundedCall
from gym_anything.testing.conformance.subject import Subject
from gym_anything.testing.leaks import LeakCheck
from gym_anything.testing.required import is_required

CALL_LIMIT_S = 60.0
STOP_LIMIT_S = 30.0
CHECKPOINT_LEVEL = "pre_start"


class ConformanceCase(unittest.TestCase):
    """Helpers for checks. ``self.world()`` is shared by the tests that do it no harm, ``self.fresh()`` is a test's own.

    A fresh world is stopped after the test, and what it leaves then fails the test.
    """

    subject: ClassVar[Subject]
    _shared: ClassVar[BaseRunner | None] = None
    _checkpoint_made: ClassVar[bool] = False
    _folder: ClassVar[tempfile.TemporaryDirectory[str]]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        status = runner_status(cls.subject.cls)
        if not status.available:
            if is_required(cls.subject.reference):
                raise AssertionError(f"required runner {cls.subject.reference!r} is not available: {status.reason}")
            raise unittest.SkipTest(f"{cls.subject.reference}: {status.reason}")
        if cls.subject.restored:
            cls._need_checkpoints()
        cls._folder = tempfile.TemporaryDirectory(prefix="gym-anything-conformance-")
        cls._warm_up()

    @classmethod
    def tearDownClass(cls) -> None:
        try:
            cls._drop_shared()
            cls._drop_checkpoint()
        finally:
            cls._folder.cleanup()
            super().tearDownClass()

    # --- worlds --------------------------------------------------------------------------------------------------

    def world(self) -> BaseRunner:
        """Return the started world that the class's tests share."""
        cls = type(self)
        if cls._shared is None:
            runner = self.subject.cls(self.subject.spec())
            try:
                self._bring_up(runner)
            except BaseException:
                BoundedCall(runner.stop, "stop").wait(STOP_LIMIT_S)
                raise
            cls._shared = runner
        return cls._shared

    def fresh(self, spec: EnvSpec | None = None, *, started: bool = True, **start: Any) -> BaseRunner:
        """Return a world of the test's own, started unless asked otherwise, checked for leaks after the test."""
        leaks = LeakCheck()
        leaks.begin()
        self.addCleanup(leaks.end)
        runner = self.subject.cls(spec or self.subject.spec())
        self.addCleanup(self.bounded, runner.stop, STOP_LIMIT_S)
        if started:
            self._bring_up(runner, **start)
        return runner

    def bounded(self, act: Callable[[], Any], limit_s: float = CALL_LIMIT_S) -> Any:
        """Do a call that may hang; fail when it does."""
        return BoundedCall(act, getattr(act, "__name__", "call")).result(limit_s)

    def needs(self, condition: bool, reason: str) -> None:
        """Skip the test with the reason unless the condition holds."""
        if not condition:
            self.skipTest(reason)

    @classmethod
    def _bring_up(cls, runner: BaseRunner, **start: Any) -> None:
        """Start a world, or restore it where the suite is about restored worlds."""
        call = cls._coming_up(runner, **start)
        if call.result(cls.subject.start_limit_s) is False:
            raise AssertionError(f"{call.name} returned False")

    @classmethod
    def _coming_up(cls, runner: BaseRunner, **start: Any) -> BoundedCall:
        """Tell a world about its episode, as every world is told, and begin its start or restoration."""
        if cls.subject.restored:
            cls._make_checkpoint()
        runner.on_episode_start(cls._context(runner, start.get("seed")))
        if not cls.subject.restored:
            return BoundedCall(lambda: runner.start(**start), "start")
        runner.set_checkpoint_key(CHECKPOINT_LEVEL)
        return BoundedCall(lambda: runner.start_from_checkpoint(**start), "start_from_checkpoint")

    @classmethod
    def _context(cls, runner: BaseRunner, seed: int | None = None) -> dict[str, Any]:
        """Return the context of an episode whose folder is there."""
        return {"episode_dir": cls._folder.name, "env_id": runner.spec.id, "task_id": None, "seed": seed}

    # --- once per class ------------------------------------------------------------------------------------------

    @classmethod
    def _warm_up(cls) -> None:
        """Have what a first world makes once and keeps (a supervisor, thread pools) made before leaks are looked for.

        Its failure is not this method's matter: the tests start worlds, too.
        """
        runner = cls.subject.cls(cls.subject.spec())
        runner.on_episode_start(cls._context(runner))
        BoundedCall(runner.start, "start").wait(cls.subject.start_limit_s)
        BoundedCall(runner.stop, "stop").wait(STOP_LIMIT_S)

    @classmethod
    def _need_checkpoints(cls) -> None:
        if not cls.subject.cls(cls.subject.spec()).supports_checkpoint_caching():
            raise unittest.SkipTest(f"{cls.subject.reference}: makes no checkpoints, so no world is restored")

    @classmethod
    def _make_checkpoint(cls) -> None:
        """Make the checkpoint that restored worlds come from, once."""
        if cls._checkpoint_made:
            return
        runner = cls.subject.cls(cls.subject.spec())
        try:
            runner.on_episode_start(cls._context(runner))
            runner.set_checkpoint_key(CHECKPOINT_LEVEL)
            BoundedCall(runner.start, "start").result(cls.subject.start_limit_s)
            BoundedCall(runner.create_checkpoint, "create_checkpoint").result(cls.subject.start_limit_s)
        finally:
            BoundedCall(runner.stop, "stop").wait(STOP_LIMIT_S)
        cls._checkpoint_made = True

    @classmethod
    def _drop_checkpoint(cls) -> None:
        if cls._checkpoint_made and cls.subject.cls.overrides(["delete_checkpoint"]):
            runner = cls.subject.cls(cls.subject.spec())
            runner.on_episode_start(cls._context(runner))
            runner.set_checkpoint_key(CHECKPOINT_LEVEL)
            runner.delete_checkpoint()
            cls._checkpoint_made = False

    @classmethod
    def _drop_shared(cls) -> None:
        """Stop the shared world; the next test that asks for it gets a new one."""
        runner, cls._shared = cls._shared, None
        if runner is not None and not BoundedCall(runner.stop, "stop").wait(STOP_LIMIT_S):
            raise AssertionError(f"stop did not end within {STOP_LIMIT_S:g} s")


def is_refusal(error: BaseException) -> bool:
    """Tell whether an error is one that a runner may use to say no: typed, or Python's own word for "not written"."""
    return isinstance(error, GymAnythingError | NotImplementedError)
