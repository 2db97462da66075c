"""The environment: one world, one task, one episode at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from gym_anything.episode.session_info import SessionInfo

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec

    from gym_anything.runtime.runners.base import BaseRunner

CacheLevel = Literal["pre_start", "post_start", "post_task", "default"]


class GymAnythingEnv:
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
        fast_io: bool = False,
        strict_hooks: bool = False,
    ) -> None:
        """Bind a world to a task; nothing is started yet.

        Args:
            runner: the world; chosen as ``from_config`` would when None.
            env_root, task_root: the folders that relative paths (secrets, verifiers, targets) start from.
            fast_io: low-latency frames and input, no fixed sleeps.
            strict_hooks: a set-up hook that exits non-zero raises instead of marking the episode ``setup_failed``.
        Raises: UnsupportedFeature when the runner cannot do fast I/O.
        """
        raise NotImplementedError

    # --- episode -------------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | None = None,
        use_cache: bool = False,
        cache_level: CacheLevel = "pre_start",
        use_savevm: bool = False,
    ) -> dict[str, Any]:
        """Complete an open episode, start or restore a world, set the task up, return the first observation.

        Blocks: as long as the world's start and the hooks take (``GYM_ANYTHING_HOOK_TIMEOUT``, ``pre_task_timeout``).
        Raises: WorldError kinds when the world does not come up (everything it had started is gone again),
            UnsupportedFeature for a cache or savevm that the runner lacks. With ``strict_hooks``: GuestCommandFailed.
        """
        raise NotImplementedError

    def step(
        self,
        actions: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        wait_between_actions: float = 0.2,
        mark_done: bool = False,
        *,
        capture_observation: bool = True,
        settle_after_actions: bool = True,
        trajectory_metadata: Mapping[str, Any] | None = None,
    ) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        """Do actions, return ``(obs, reward, done, info)``.

        All actions are parsed before the first is done. A lost world does not raise: ``done`` is True and
        ``info["outcome"]`` is broken with blame and story. Called: after ``reset``, while the episode is open.
        Raises: ActionError (nothing was done), ActionUnsupported, InputNotDelivered, StateError.
        """
        raise NotImplementedError

    def evaluate(self) -> dict[str, Any]:
        """Judge the present state and return the report with ``outcome``; the episode stays open and is not decided."""
        raise NotImplementedError

    def close(self) -> None:
        """Complete an open episode, stop the world. Harmless when repeated."""
        raise NotImplementedError

    def abort(self) -> None:
        """End every blocked call of this environment within a second; from any thread. The world is unusable after."""
        raise NotImplementedError

    def __enter__(self) -> GymAnythingEnv:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        raise NotImplementedError

    # --- observation and set-up ----------------------------------------------------------------------------------

    def capture_observation(self) -> dict[str, Any]:
        """Return a fresh observation without doing anything."""
        raise NotImplementedError

    def capture_screenshot_image(self) -> Any:
        """Return the present screen as a PIL image (RGB) of the caller's own."""
        raise NotImplementedError

    def apply_post_reset_setup(self) -> dict[str, Any]:
        """Run the set-up stages after the world's own hooks again (reset script, pre_task, init) and observe."""
        raise NotImplementedError

    def set_episode_limits(self, *, max_steps: int | None = None, timeout_sec: float | None = None) -> None:
        """Set the limits of this and later episodes; ``None`` leaves one as it is."""
        raise NotImplementedError

    def set_verifier_overrides(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        mode: str | None = None,
        timeout_sec: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Judge by another mode, deadline or environment than the task's; replaces earlier overrides."""
        raise NotImplementedError

    def set_roots(self, env_root: str | Path | None = None, task_root: str | Path | None = None) -> None:
        """Set the folders that relative paths start from; ``None`` leaves one as it is."""
        raise NotImplementedError

    def set_reporter(self, reporter: Any) -> None:
        """Give progress messages to ``reporter``; handed on to the runner."""
        raise NotImplementedError

    # --- state, files, recording ---------------------------------------------------------------------------------

    def save_state(self, *args: Any, **kwargs: Any) -> Any:
        """Save the world's state, as its runner can. Raises: UnsupportedFeature."""
        raise NotImplementedError

    def load_state(self, *args: Any, **kwargs: Any) -> Any:
        """Bring a saved state back. Raises: UnsupportedFeature, CheckpointMissing."""
        raise NotImplementedError

    def copy_to_env(self, host_path: str | Path, guest_path: str) -> None:
        """Copy a file or folder of the host into the guest."""
        raise NotImplementedError

    def copy_from_env(self, guest_path: str, host_path: str | Path) -> str:
        """Copy a file or folder out of the guest; returns the host path. Raises: GuestFileNotFound."""
        raise NotImplementedError

    def pause_recording(self) -> None:
        """Leave what follows out of ``recording.mp4``; harmless when there is no recording."""
        raise NotImplementedError

    def resume_recording(self) -> None:
        """Record again."""
        raise NotImplementedError

    def log_trajectory_event(self, event: str, data: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Append an event of the caller's own to ``traj.jsonl``."""
        raise NotImplementedError

    # --- facts ---------------------------------------------------------------------------------------------------

    def get_session_info(self) -> SessionInfo:
        """Return what is needed to reach the running world."""
        raise NotImplementedError

    def get_compatibility_profile(self) -> dict[str, Any]:
        """Return what the runner says it supports, and what of this spec it does not enforce."""
        raise NotImplementedError

    @property
    def env_spec(self) -> EnvSpec:
        """The environment's spec."""
        raise NotImplementedError

    @property
    def task_spec(self) -> TaskSpec | None:
        """The task's spec, if there is a task."""
        raise NotImplementedError

    @property
    def runner(self) -> BaseRunner:
        """The world."""
        raise NotImplementedError

    @property
    def runner_name(self) -> str:
        """Key or locator of the runner."""
        raise NotImplementedError

    @property
    def env_root(self) -> Path | None:
        """The folder of the environment."""
        raise NotImplementedError

    @property
    def task_root(self) -> Path | None:
        """The folder of the task."""
        raise NotImplementedError

    @property
    def episode_dir(self) -> Path | None:
        """The artifacts folder of the present or last episode; None before the first reset."""
        raise NotImplementedError

    @property
    def artifacts_dir(self) -> Path | None:
        """The same as ``episode_dir``."""
        raise NotImplementedError

    @property
    def max_steps(self) -> int | None:
        """The step limit; None is none."""
        raise NotImplementedError

    @property
    def timeout_sec(self) -> float | None:
        """The time limit in seconds from the first observation; None is none."""
        raise NotImplementedError

    @property
    def warnings(self) -> list[str]:
        """What was tolerated or cannot be enforced: spec near-misses, fields the runner ignores, failed hooks."""
        raise NotImplementedError
