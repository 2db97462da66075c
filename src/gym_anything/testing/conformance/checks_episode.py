"""Whole episodes: the world behind the front door, as its users meet it."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.factory import make
from gym_anything.errors import GymAnythingError
from gym_anything.testing.conformance.case import STOP_LIMIT_S, ConformanceCase, is_refusal
from gym_anything.testing.conformance.subject import CORE_OBSERVATIONS, merged
from gym_anything.testing.leaks import LeakCheck


class EpisodeChecks(ConformanceCase):
    """``make → reset → step → close`` with the author's spec, task and actions."""

    _episode_played: ClassVar[bool] = False

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.artifacts = Path(folder.name)

    def env(self, *, fast_io: bool = False) -> GymAnythingEnv:
        """Return an environment of the test's own; it is closed after the test, and must leave nothing."""
        self.warm_up_once()
        leaks = LeakCheck()
        leaks.begin()
        self.addCleanup(leaks.end)
        return self.made(fast_io=fast_io)

    def made(self, *, fast_io: bool) -> GymAnythingEnv:
        """Return an environment that is closed after the test."""
        spec = merged(self.subject.env_data, {"recording": {"output_dir": str(self.artifacts)}})
        env = make(spec, self.subject.task_data, fast_io=fast_io)
        self.addCleanup(self.bounded, env.close, self.subject.start_limit_s)
        return env

    def warm_up_once(self) -> None:
        """Have what a first episode makes once and keeps (a supervisor, a server of judges) made before leaks count."""
        cls = type(self)
        if cls._episode_played:
            return
        cls._episode_played = True
        env = self.made(fast_io=False)
        try:
            self.bounded(env.reset, self.subject.start_limit_s)
            self.step(env, [], mark_done=True)
        except Exception:  # noqa: BLE001 - the boundary: whatever is wrong, a test of its own will say so
            return
        finally:
            self.bounded(env.close, self.subject.start_limit_s)

    def check_observation(self, obs: dict[str, Any], *, fast_io: bool) -> None:
        """Check that what the spec declares is there, in the form of the mode."""
        own = [item.type for item in self.subject.spec().observation if item.type not in CORE_OBSERVATIONS]
        if own and self.subject.declared_observations:
            self.assertTrue(set(obs) - {"screen", "audio", "ui_tree"}, f"nothing of the world's own types {own} came")
        if not self.subject.shows("rgb_screen"):
            return
        size = self.subject.spec().screen_size
        if fast_io:
            self.assertEqual(obs["screen"]["image"].mode, "RGB")
            self.assertEqual(obs["screen"]["array"].shape[:2], tuple(reversed(obs["screen"]["image"].size)))
            self.assertEqual(obs["screen"]["image"].size, size or obs["screen"]["image"].size)
        else:
            with Image.open(obs["screen"]["path"]) as image:
                self.assertEqual(image.size, size or image.size)

    def play(self, *, fast_io: bool) -> dict[str, Any]:
        """Play one episode of the author's actions and return the last info."""
        env = self.env(fast_io=fast_io)
        self.check_observation(self.bounded(lambda: env.reset(seed=1), self.subject.start_limit_s), fast_io=fast_io)
        for action in self.subject.actions:
            obs = self.step(env, [copy.deepcopy(dict(action))])[0]
            self.check_observation(obs, fast_io=fast_io)
        done, info = self.step(env, [], mark_done=True)[2:]
        self.assertTrue(done)
        return dict(info)

    def step(
        self, env: GymAnythingEnv, actions: list[dict[str, Any]], *, mark_done: bool = False
    ) -> tuple[Any, float, bool, Any]:
        """Step without core's pacing."""
        answer: tuple[Any, float, bool, Any] = self.bounded(
            lambda: env.step(actions, 0.0, mark_done, settle_after_actions=False)
        )
        return answer

    def test_an_episode_in_normal_mode(self) -> None:
        self.check_end(self.play(fast_io=False))

    def test_an_episode_in_fast_mode(self) -> None:
        can = self.subject.cls(self.subject.spec()).supports_fast_io()
        self.needs(can, "this runner has no fast mode")
        self.check_end(self.play(fast_io=True))

    def check_end(self, info: dict[str, Any]) -> None:
        """Check how an episode ended."""
        self.assertEqual(info["reason"], "Agent Completed")
        if self.subject.task_data is not None:
            outcome = info["outcome"]
            self.assertNotEqual(outcome["status"], "broken", f"{outcome.get('blame')}: {outcome.get('story')}")

    def test_an_environment_is_reset_again_and_again(self) -> None:
        env = self.env()
        for _ in range(2):
            self.check_observation(self.bounded(lambda: env.reset(seed=2), self.subject.start_limit_s), fast_io=False)
        self.bounded(env.close, self.subject.start_limit_s)
        self.bounded(env.close, STOP_LIMIT_S)

    def test_a_refused_action_does_not_end_the_episode(self) -> None:
        env = self.env()
        self.bounded(env.reset, self.subject.start_limit_s)
        try:
            self.step(env, [{"action": "gym_anything_conformance_no_such_action"}])
        except Exception as error:
            if not is_refusal(error) and not isinstance(error, ValueError | LookupError | TypeError):
                raise
        self.check_observation(self.bounded(env.capture_observation), fast_io=False)

    def test_an_episode_is_aborted_from_another_thread(self) -> None:
        self.needs(self.subject.cls(self.subject.spec()).can_abort(), "the class has no abort() of its own")
        env = self.env()
        self.bounded(env.reset, self.subject.start_limit_s)
        env.abort()
        with self.assertRaises(GymAnythingError):
            self.bounded(env.capture_observation)
