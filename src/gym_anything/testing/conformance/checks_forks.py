"""Forks: a running world branches, the branches are worlds of their own, the source goes on; or the world says no."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import StateError, UnsupportedFeature
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.base_forks import BranchPoint
from gym_anything.testing.conformance.case import STOP_LIMIT_S
from gym_anything.testing.conformance.checks_episode import EpisodeChecks
from gym_anything.testing.conformance.guest_words import words_of


class ForkChecks(EpisodeChecks):
    """Gated on ``supports_fork()``; a world without forks is held to saying so."""

    def can_branch(self) -> None:
        """Skip where worlds cannot branch."""
        self.needs(self.subject.cls(self.subject.spec()).supports_fork(), "this world cannot branch")

    def forking(self) -> BaseRunner:
        """Return a started world of the test's own that can branch."""
        self.can_branch()
        return self.fresh()

    def branched(self, source: BaseRunner) -> BranchPoint:
        """Return the source's present moment; it is released after the test at the latest."""
        point: BranchPoint = self.bounded(source.branch)
        self.addCleanup(point.release)
        return point

    def forked_from(self, source: BaseRunner, point: BranchPoint) -> BaseRunner:
        """Return a started fork; it is stopped after the test."""
        fork = source.new_sibling()
        self.addCleanup(self.bounded, fork.stop, STOP_LIMIT_S)
        fork.on_episode_start(self._context(fork))
        self.bounded(lambda: fork.start_from_branch(point), self.subject.start_limit_s)
        return fork

    def write_note(self, runner: BaseRunner, name: str, text: str) -> str:
        """Write a file into the world and return its path."""
        path = words_of(runner.get_platform_family()).folder + name
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "text"
            source.write_text(text)
            self.bounded(lambda: runner.copy_to(str(source), path))
        return path

    def note_of(self, runner: BaseRunner, path: str) -> str:
        """Return the content of a file of the world."""
        with tempfile.TemporaryDirectory() as folder:
            self.bounded(lambda: runner.copy_from(path, str(Path(folder) / "back")))
            return (Path(folder) / "back").read_text()

    # --- worlds that cannot --------------------------------------------------------------------------------------

    def test_a_world_that_cannot_branch_says_why_and_what_to_do(self) -> None:
        runner = self.world()
        self.needs(not runner.supports_fork(), "this world can branch")
        with self.assertRaises(UnsupportedFeature) as caught:
            runner.branch()
        detail = caught.exception.detail
        self.assertEqual(detail.get("feature"), "fork")
        self.assertTrue(detail.get("reason") and detail.get("fix"), f"neither why nor what to do: {detail}")

    # --- worlds that can -----------------------------------------------------------------------------------------

    def test_forks_have_the_state_of_their_source_and_go_ways_of_their_own(self) -> None:
        source = self.forking()
        self.needs(source.overrides(["copy_to"]), "this world has no files to tell by")
        path = self.write_note(source, "conformance-fork", "before")
        point = self.branched(source)
        self.write_note(source, "conformance-fork", "the source went on")
        forks = [self.forked_from(source, point) for _ in range(2)]
        self.assertEqual([self.note_of(fork, path) for fork in forks], ["before", "before"])
        for number, fork in enumerate(forks):
            self.write_note(fork, "conformance-fork", f"fork {number}")
        self.assertEqual([self.note_of(fork, path) for fork in forks], ["fork 0", "fork 1"])
        self.assertEqual(self.note_of(source, path), "the source went on")

    def test_a_fork_outlives_its_source_and_the_point_and_branches_again(self) -> None:
        source = self.forking()
        self.needs(source.overrides(["copy_to"]), "this world has no files to tell by")
        path = self.write_note(source, "conformance-fork", "first")
        point = self.branched(source)
        fork = self.forked_from(source, point)
        point.release()
        self.bounded(source.stop, STOP_LIMIT_S)
        self.assertEqual(self.note_of(fork, path), "first")
        self.write_note(fork, "conformance-fork", "second")
        grandchild = self.forked_from(fork, self.branched(fork))
        self.assertEqual(self.note_of(grandchild, path), "second")

    def test_the_end_of_a_fork_touches_no_other_world(self) -> None:
        source = self.forking()
        self.needs(source.overrides(["copy_to"]), "this world has no files to tell by")
        path = self.write_note(source, "conformance-fork", "kept")
        point = self.branched(source)
        first, second = (self.forked_from(source, point) for _ in range(2))
        self.bounded(first.stop, STOP_LIMIT_S)
        self.assertEqual([self.note_of(world, path) for world in (source, second)], ["kept", "kept"])

    def test_a_world_that_is_not_started_does_not_branch(self) -> None:
        runner = self.subject.cls(self.subject.spec())
        self.needs(runner.supports_fork(), "this world cannot branch")
        with self.assertRaises(StateError):
            runner.branch()

    def test_a_forked_episode_goes_on_with_its_own_artifacts(self) -> None:
        self.can_branch()
        source = self.env()
        self.bounded(lambda: source.reset(seed=1), self.subject.start_limit_s)
        self.step(source, [])
        forks: list[GymAnythingEnv] = self.bounded(lambda: source.fork(2), self.subject.start_limit_s)
        for fork in forks:
            self.addCleanup(self.bounded, fork.close, self.subject.start_limit_s)
        parent = Path(str(source.episode_dir)).name
        for index, fork in enumerate(forks):
            lineage = {"parent": parent, "ancestors": [parent], "step": 1, "index": index, "count": 2}
            self.assertEqual(fork.lineage, lineage)
            self.assertEqual(self.step(fork, [])[3]["step"], 2)
        self.bounded(forks[0].close, self.subject.start_limit_s)
        summary = json.loads((Path(str(forks[0].episode_dir)) / "summary.json").read_text())
        self.assertEqual((summary["lineage"]["parent"], summary["steps"]), (parent, 2))
        self.assertEqual(self.step(source, [])[3]["step"], 2)
        self.assertEqual(self.step(forks[1], [])[3]["step"], 3)
        folders = {env.episode_dir for env in (source, *forks)}
        self.assertEqual(len(folders), 3)
