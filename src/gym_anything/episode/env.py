"""The environment: one world, one task, one episode at a time."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from gym_anything.episode import finish
from gym_anything.episode.cache_plan import plan_cache
from gym_anything.episode.env_access import EnvAccess
from gym_anything.episode.episode import Episode
from gym_anything.episode.forking import fork_episode
from gym_anything.episode.guarding import guarded, stop_world
from gym_anything.episode.limits import CLOSED
from gym_anything.episode.observing import observe
from gym_anything.episode.opening import open_session
from gym_anything.episode.reset import begin_episode, bring_up, set_up_task
from gym_anything.episode.shaping import step_reward
from gym_anything.episode.stepping import StepRequest, run_step
from gym_anything.episode.warming import warm_up
from gym_anything.errors import Aborted, GymAnythingError, SpecInvalid, WorldLost

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec

CacheLevel = Literal["pre_start", "post_start", "post_task", "default"]
Step = tuple[dict[str, Any], float, bool, dict[str, Any]]


class GymAnythingEnv(EnvAccess):
    """An environment: ``reset → step* → close``, with artifacts and a verdict at the end.

    Not thread-safe, save for ``abort``: one thread drives an environment. Every method that waits on the world ends
    within a second of ``abort()`` from another thread. A ``KeyboardInterrupt`` at any point stops the world and closes
    the artifacts before it goes on to the caller. Use it as a context manager, or call ``close``.
    """

    def __init__(
        self,
        env_spec: EnvSpec,
        task_spec: TaskSpec | None = None,
        *,
        runner: BaseRunner | None = None,
        runner_name: str | None = None,
        env_root: str | Path | None = None,
        task_root: str | Path | None = None,
        task_key: str | None = None,
        fast_io: bool = False,
        strict_hooks: bool = False,
        pacing: str | None = None,
        settle_ignore: Sequence[Sequence[int]] | None = None,
        warnings: Sequence[str] = (),
    ) -> None:
        """Bind a world to a task; nothing is started yet.

        Args:
            runner: the world; chosen as ``from_config`` would when None.
            runner_name: key or locator that wins over everything else; the name to show when ``runner`` is given.
            env_root, task_root: the folders that relative paths (secrets, verifiers, targets) start from.
            task_key: the task's folder name, when it has one; names its checkpoints.
            fast_io: low-latency frames and input, no fixed sleeps.
            strict_hooks: a set-up hook that exits non-zero raises instead of marking the episode ``setup_failed``.
            pacing: ``legacy``, ``fast`` or ``settle`` (wait until the screen is at rest instead of sleeping; the step's
                ``info["settle"]`` says whether it came to rest); by default follows ``fast_io``.
            settle_ignore: boxes ``[x, y, width, height]`` in which changes never count for a settle.
            warnings: what loading the specs remarked.
        Raises: PluginError kinds, MissingDependency, SpecInvalid, UnsupportedFeature (no fast I/O).
        """
        self._session = open_session(
            env_spec,
            task_spec,
            runner=runner,
            runner_name=runner_name,
            env_root=Path(env_root) if env_root is not None else None,
            task_root=Path(task_root) if task_root is not None else None,
            task_key=task_key,
            fast_io=fast_io,
            strict_hooks=strict_hooks,
            pacing=pacing,
            settle_ignore=settle_ignore,
            warnings=warnings,
        )
        self._episode: Episode | None = None

    # --- episode -------------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | None = None,
        use_cache: bool = False,
        cache_level: CacheLevel = "pre_start",
        use_savevm: bool = False,
    ) -> dict[str, Any]:
        """Complete an open episode, start or restore a world, set the task up, return the first observation.

        Args:
            seed: handed to the world and the reset script.
            use_cache: start from a checkpoint, or make one. ``use_savevm`` asks for one with memory and processes.
            cache_level: where; ``default`` takes ``default_cache_level`` and ``default_use_savevm`` of the spec.
        Blocks: as long as the world's start and the hooks take (``GYM_ANYTHING_HOOK_TIMEOUT``, ``pre_task_timeout``).
        Raises: WorldError kinds when the world does not come up (everything it had started is gone again),
            UnsupportedFeature for a cache or savevm that the runner lacks. With ``strict_hooks``: GuestCommandFailed.
        """
        session = self._session
        plan = plan_cache(session, use_cache=use_cache, cache_level=cache_level, use_savevm=use_savevm)
        self._complete_open_episode()
        self._detach_last_screen()
        if session.warm is None or not session.warm.fits(session, plan, seed):
            stop_world(session)
        self._episode = episode = begin_episode(session, plan, seed)
        with guarded(session, episode, "reset", stop_on_any_error=True):
            observation = bring_up(session, episode, plan)
            episode.folder.append("session", self.get_session_info().to_dict())
        return self._remember(observation)

    def warm_up(
        self,
        seed: int | None = None,
        use_cache: bool = False,
        cache_level: CacheLevel = "post_start",
        use_savevm: bool = False,
    ) -> None:
        """Complete an open episode and bring a world up as ``reset`` does, up to its task; for pools.

        The next ``reset`` with the same cache arguments goes on from there, with whatever task ``set_task`` has named
        by then; any other one begins with a world of its own. So does one with another ``seed`` where the runner's
        ``seed_matters_at_start``. The runner learns of the episode before the start (without a task, with a folder for
        the time being) and again in ``reset``.

        Raises: as ``reset``; SpecInvalid for ``post_task``, which is a level of a task.
        """
        session = self._session
        plan = plan_cache(session, use_cache=use_cache, cache_level=cache_level, use_savevm=use_savevm)
        if plan.level == "post_task":
            raise SpecInvalid("warm_up: a world that has no task yet ends with post_start, not post_task")
        self._complete_open_episode()
        self._detach_last_screen()
        stop_world(session)
        self._episode = None
        warm_up(session, plan, seed)

    def step(
        self,
        actions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        wait_between_actions: float = 0.2,
        mark_done: bool = False,
        *,
        capture_observation: bool = True,
        settle_after_actions: bool = True,
        trajectory_metadata: Mapping[str, Any] | None = None,
        settle_ignore: Sequence[Sequence[int]] = (),
    ) -> Step:
        """Do actions, return ``(obs, reward, done, info)``.

        All actions are parsed before the first is done. A lost world does not raise: ``done`` is True and
        ``info["outcome"]`` is broken with blame and story. Called: after ``reset``, while the episode is open.

        Args:
            actions: one action dict, a list of them, or None.
            wait_between_actions: seconds; in fast mode the default falls away where the world acknowledges input.
            mark_done: the agent says that it is done: the episode is completed and judged.
            settle_after_actions: wait after input as the pacing has it.
            trajectory_metadata: kept with the step in ``traj.jsonl``.
            settle_ignore: more boxes ``[x, y, width, height]`` in which changes do not count, for this step's settles.
        Raises: ActionError (nothing was done), ActionUnsupported, InputNotDelivered (none of the step's input was done;
            it is no step, and may be sent again), InputDeliveryUnknown (some was, or may have been), StateError.
        """
        session, episode = self._session, self._open_episode("step")
        request = StepRequest(
            actions,
            wait_between_actions,
            mark_done,
            capture_observation,
            settle_after_actions,
            trajectory_metadata,
            settle_ignore,
        )
        self._detach_last_screen()
        with guarded(session, episode, "step"):
            try:
                result = run_step(session, episode, request)
                reward = self._step_reward(episode, result.info)
                if result.end_reason is not None:
                    finish.complete(session, episode, result.end_reason)
            except WorldLost as error:
                finish.lose(session, episode, error, "step")
                return {}, 0.0, True, self._end_info(episode, {"step": episode.steps, "timings": {}})
        observation = self._remember(result.observation)
        if not episode.is_over:
            return observation, reward, False, result.info
        return observation, reward + episode.reward, True, self._end_info(episode, result.info)

    def evaluate(self) -> dict[str, Any]:
        """Judge the present state and return the report with ``outcome`` and ``reward``; the episode stays open.

        Runs the task's ``post_task`` hook, since that is what exports the state for the judge. Once the episode is over
        this returns the final report; a lost world ends it and does not raise, as in ``step``. Raises: StateError.
        """
        episode = self._episode
        if episode is not None and episode.is_over and episode.report is not None:
            return {**episode.report, "reward": episode.reward}
        session, episode = self._session, self._open_episode("evaluate")
        with guarded(session, episode, "evaluate"):
            try:
                return finish.evaluate(session, episode)
            except WorldLost as error:
                finish.lose(session, episode, error, "evaluate")
        return {**(episode.report or {}), "reward": episode.reward}

    def fork(self, n: int) -> list[GymAnythingEnv]:
        """Branch the running episode into ``n`` more from its present state; this one goes on.

        Each fork is an environment of its own with an open episode: same task, spaces, limits and settings (no
        reporter), the steps and the time used so far, its own world, recorder and folder. That folder begins with the
        trajectory and pictures up to here and says in ``forked_from`` and ``summary.json`` (``lineage``) where it comes
        from. What actions hold pressed is released before, here, too. Close every fork; forks can be forked.

        Called: while the episode is open. Blocks: this world stands still for less than a second; then until every
        fork can be used. Raises: UnsupportedFeature where the world cannot (it says why and what to do instead),
        SpecInvalid for an ``n`` below 1, StateError, WorldError kinds: then there is no fork.
        """
        session, episode = self._session, self._open_episode("fork")
        self._detach_last_screen()
        with guarded(session, episode, "fork"):
            pairs = fork_episode(session, episode, n)
        forks = []
        for fork_session, fork_of_episode in pairs:
            fork = copy.copy(self)
            fork._session, fork._episode, fork._last_screen = fork_session, fork_of_episode, None
            forks.append(fork)
        return forks

    def close(self) -> None:
        """Complete an open episode, stop the world. Harmless when repeated."""
        try:
            self._complete_open_episode()
        except Aborted:
            pass  # the caller ended it; the episode's outcome says so
        finally:
            self._detach_last_screen()
            stop_world(self._session)

    def abort(self) -> None:
        """End every blocked call of this environment within a second; from any thread. The world is unusable after."""
        self._session.cancellation.cancel()
        self._session.runner.abort()

    def __enter__(self) -> GymAnythingEnv:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            if error is not None and self._episode is not None:
                finish.abandon(self._session, self._episode, error, "the caller's own code")
        finally:
            self.close()

    # --- observation and set-up ----------------------------------------------------------------------------------

    def capture_observation(self) -> dict[str, Any]:
        """Return a fresh observation without doing anything; also after the verdict, until ``close``.

        Raises: WorldLost, CaptureFailed (fast mode), StateError.
        """
        session, episode = self._session, self._reachable_episode("capture_observation")
        self._detach_last_screen()
        with guarded(session, episode, "capture_observation"):
            return self._remember(observe(session, episode, is_step=False))

    def capture_screenshot_image(self) -> Any:
        """Return the present screen as a PIL image (RGB) of the caller's own."""
        episode = self._reachable_episode("capture_screenshot_image")
        with guarded(self._session, episode, "capture_screenshot_image"):
            return self._session.runner.capture_screenshot_image()

    def apply_post_reset_setup(self) -> dict[str, Any]:
        """Run the set-up stages after the world's own hooks again (reset script, pre_task, init) and observe."""
        session, episode = self._session, self._open_episode("apply_post_reset_setup")
        self._detach_last_screen()
        with guarded(session, episode, "apply_post_reset_setup"):
            set_up_task(session, episode, is_restored=False)
            return self._remember(observe(session, episode, is_step=False))

    # --- inside --------------------------------------------------------------------------------------------------

    def _complete_open_episode(self) -> None:
        session, episode = self._session, self._episode
        if episode is None or episode.is_over:
            return
        with guarded(session, episode, "completing the episode"):
            finish.complete(session, episode, CLOSED)

    def _step_reward(self, episode: Episode, info: dict[str, Any]) -> float:
        """Return the step's shaped reward; a reward function that fails gives 0.0 and says so."""
        try:
            return step_reward(self._session, episode)
        except (WorldLost, Aborted):
            raise
        except GymAnythingError as error:
            info["reward_error"] = error.to_wire()
            self._session.warn(f"the reward function failed: {error}")
            return 0.0
