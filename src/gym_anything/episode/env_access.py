"""The settings, files, state and recording part of an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gym_anything.episode.env_facts import EnvFacts
from gym_anything.episode.guarding import guarded
from gym_anything.episode.opening import bind_task
from gym_anything.episode.session import VerifierOverrides
from gym_anything.episode.task_choice import TaskSource, choose_task
from gym_anything.errors import StateError


class EnvAccess(EnvFacts):
    """What a caller may change or fetch beside stepping."""

    # --- settings ------------------------------------------------------------------------------------------------

    def set_task(self, task: TaskSource | None) -> None:
        """Bind the environment to another task, with its own limits; verifier overrides begin anew.

        Args: task: a spec, a dict, a task's folder or file, or a folder's name below the environment's ``tasks``.
        Raises: SpecError kinds; StateError while an episode is open (complete it first).
        """
        if self._episode is not None and not self._episode.is_over:
            raise StateError("set_task: an episode is open; complete it with step(mark_done=True) or close() first")
        bind_task(self._session, choose_task(task, self._session.env_root))

    def set_episode_limits(self, *, max_steps: int | None = None, timeout_sec: float | None = None) -> None:
        """Set the limits of this and later episodes; ``None`` leaves one as it is. Raises: SpecInvalid."""
        self._session.limits = self._session.limits.changed(max_steps=max_steps, timeout_sec=timeout_sec)

    def set_verifier_overrides(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        mode: str | None = None,
        timeout_sec: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Judge by another mode, deadline or environment than the task's; replaces earlier overrides.

        Args: overrides: the same as keywords; keys in capitals are variables for the verifier's process.
        Raises: SpecInvalid for an unknown key.
        """
        self._session.overrides = VerifierOverrides.read(
            overrides, mode=mode, timeout_sec=timeout_sec, environment=environment
        )

    def set_roots(self, env_root: str | Path | None = None, task_root: str | Path | None = None) -> None:
        """Set the folders that verifiers, targets and imports start from; ``None`` leaves one as it is."""
        session = self._session
        session.env_root = Path(env_root) if env_root is not None else session.env_root
        session.task_root = Path(task_root) if task_root is not None else session.task_root

    def set_reporter(self, reporter: Any) -> None:
        """Give progress to ``reporter(event, **facts)``, also what the runner reports. None: nobody."""
        self._session.reporter = reporter

    # --- state and files -----------------------------------------------------------------------------------------

    def save_state(self, save_paths: Sequence[str] | None = None) -> str:
        """Save the state under the guest's ``save_paths`` (None: the spec's) and return the snapshot's guest path.

        Raises: UnsupportedFeature where the runner cannot.
        """
        episode = self._open_episode("save_state")
        with guarded(self._session, episode, "save_state"):
            path = self._session.runner.save_state(list(save_paths) if save_paths is not None else None)
        episode.folder.append("save_state", {"path": str(path)})
        return path

    def load_state(self, snapshot: str) -> Any:
        """Bring back what ``save_state`` returned. Raises: UnsupportedFeature, CheckpointMissing."""
        episode = self._open_episode("load_state")
        with guarded(self._session, episode, "load_state"):
            result = self._session.runner.load_state(snapshot)
        episode.folder.append("load_state", {"path": str(snapshot)})
        return result

    def copy_to_env(self, host_path: str | Path, guest_path: str) -> None:
        """Copy a file or folder of the host into the guest."""
        with guarded(self._session, self._open_episode("copy_to_env"), "copy_to_env"):
            self._session.runner.copy_to(host_path, guest_path)

    def copy_from_env(self, guest_path: str, host_path: str | Path) -> str:
        """Copy a file or folder out of the guest; returns the host path. Raises: GuestFileNotFound."""
        with guarded(self._session, self._reachable_episode("copy_from_env"), "copy_from_env"):
            self._session.runner.copy_from(guest_path, host_path)
        return str(host_path)

    # --- recording and trajectory --------------------------------------------------------------------------------

    def pause_recording(self) -> None:
        """Leave what follows out of ``recording.mp4``; harmless when there is no recording."""
        if self._episode is not None:
            self._episode.frame_work.pause()

    def resume_recording(self) -> None:
        """Record again."""
        if self._episode is not None:
            self._episode.frame_work.resume()

    def log_trajectory_event(self, event: str, data: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Append an event of the caller's own to ``traj.jsonl``."""
        self._started_episode("log_trajectory_event").folder.append(event, {**(data or {}), **fields})
