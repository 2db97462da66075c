"""Checkpoints: a restored world has what was saved, and what cannot be restored is said to be."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gym_anything.errors import CheckpointError, CheckpointMissing, UnsupportedFeature
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import ConformanceCase
from gym_anything.testing.conformance.guest_words import words_of

_LEVEL = "post_start"


class CheckpointChecks(ConformanceCase):
    """Gated on ``supports_checkpoint_caching()``."""

    def keyed(self, *, started: bool = False) -> BaseRunner:
        """Return a fresh world with a key set; skip where there are no checkpoints."""
        probe = self.subject.cls(self.subject.spec())
        self.needs(probe.supports_checkpoint_caching(), "this runner makes no checkpoints")
        runner = self.fresh(started=False)
        runner.on_episode_start(self._context(runner))
        runner.set_checkpoint_key(_LEVEL)
        if started:
            self.bounded(runner.start, self.subject.start_limit_s)
        return runner

    def put(self, runner: BaseRunner, text: str) -> str:
        """Write a file into the world and return its path."""
        path = words_of(runner.get_platform_family()).folder + "conformance-kept"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "kept"
            source.write_text(text)
            self.bounded(lambda: runner.copy_to(str(source), path))
        return path

    def text_of(self, runner: BaseRunner, path: str) -> str:
        """Return the content of a file of the world."""
        with tempfile.TemporaryDirectory() as folder:
            self.bounded(lambda: runner.copy_from(path, str(Path(folder) / "back")))
            return (Path(folder) / "back").read_text()

    def forget(self) -> None:
        """Delete what lies under the key, where the class can."""
        runner = self.subject.cls(self.subject.spec())
        if runner.overrides(["delete_checkpoint"]):
            runner.on_episode_start(self._context(runner))
            runner.set_checkpoint_key(_LEVEL)
            runner.delete_checkpoint()

    def first(self) -> BaseRunner:
        """Return a started world; what it will save is deleted once all worlds of the test are gone."""
        self.addCleanup(self.forget)
        return self.keyed(started=True)

    def test_without_support_every_door_says_so(self) -> None:
        runner = self.subject.cls(self.subject.spec())
        self.needs(not runner.supports_checkpoint_caching(), "this runner makes checkpoints")
        with self.assertRaises((CheckpointError, UnsupportedFeature, NotImplementedError)):
            runner.set_checkpoint_key(_LEVEL)
            runner.create_checkpoint()

    def test_a_missing_checkpoint_is_said_to_be_missing(self) -> None:
        runner = self.keyed()
        self.forget()
        self.assertFalse(runner.checkpoint_exists())
        with self.assertRaises(CheckpointMissing):
            self.bounded(runner.start_from_checkpoint, self.subject.start_limit_s)

    def test_a_restored_world_has_what_was_saved(self) -> None:
        first = self.first()
        self.needs(first.overrides(["copy_to"]), "this world has no files to tell by")
        path = self.put(first, "kept")
        self.assertIsNot(self.bounded(first.create_checkpoint, self.subject.start_limit_s), False)
        self.assertTrue(first.checkpoint_exists())
        self.assertEqual(self.text_of(first, path), "kept", "the world that was saved is not ready after saving")
        self.put(first, "changed after saving")
        second = self.keyed()
        self.assertIsNot(self.bounded(second.start_from_checkpoint, self.subject.start_limit_s), False)
        self.assertEqual(self.text_of(second, path), "kept")

    def test_two_worlds_restored_from_one_checkpoint_do_not_share_it(self) -> None:
        first = self.first()
        self.needs(first.overrides(["copy_to"]), "this world has no files to tell by")
        path = self.put(first, "kept")
        self.bounded(first.create_checkpoint, self.subject.start_limit_s)
        second = self.keyed()
        self.bounded(second.start_from_checkpoint, self.subject.start_limit_s)
        self.put(second, "only in the second")
        third = self.keyed()
        self.bounded(third.start_from_checkpoint, self.subject.start_limit_s)
        self.assertEqual(self.text_of(third, path), "kept")

    def test_keys_of_levels_and_tasks_are_told_apart(self) -> None:
        first = self.first()
        self.bounded(first.create_checkpoint, self.subject.start_limit_s)
        other = self.keyed()
        other.set_checkpoint_key("post_task", task_id="conformance-task")
        self.assertFalse(other.checkpoint_exists())
        other.set_checkpoint_key(_LEVEL)
        self.assertTrue(other.checkpoint_exists())

    def test_an_unknown_level_is_refused(self) -> None:
        runner = self.keyed()
        with self.assertRaises((CheckpointError, UnsupportedFeature, ValueError)):
            runner.set_checkpoint_key("no_such_level")

    def test_a_memory_checkpoint_is_refused_where_there_is_none(self) -> None:
        runner = self.keyed()
        self.needs(not runner.supports_savevm(), "this runner makes memory checkpoints")
        with self.assertRaises((CheckpointError, UnsupportedFeature)):
            runner.set_checkpoint_key(_LEVEL, use_savevm=True)
