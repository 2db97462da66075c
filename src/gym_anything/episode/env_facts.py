"""The facts part of an environment: what it is bound to and where its world can be reached."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.episode.env_state import EnvState
from gym_anything.episode.episode import Episode
from gym_anything.episode.session import Session
from gym_anything.episode.session_info import SessionInfo
from gym_anything.runtime.runners.facts import get_runner_compatibility
from gym_anything.runtime.runners.spec_check import check_spec

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec


class EnvFacts(EnvState):
    """Properties and reports; none of them waits on the world."""

    def get_session_info(self) -> SessionInfo:
        """Return what is needed to reach the running world; a field that does not apply is None."""
        return session_info(self._session, self._episode)

    def get_compatibility_profile(self) -> dict[str, Any]:
        """Return what the runner says it supports, and which fields of this spec it does not enforce."""
        runner = self._session.runner
        profile = get_runner_compatibility(type(runner)).to_dict()
        check = check_spec(self._session.runner_name, type(runner), self._session.env_spec)
        profile.update(
            runner=self._session.runner_name,
            fast_io=runner.supports_fast_io(),
            checkpoint_caching=runner.supports_checkpoint_caching(),
            savevm=runner.supports_savevm(),
            live_recording=runner.supports_live_recording(),
            fork=runner.supports_fork(),
            time_control=runner.supports_time_control(),
            acks_input_delivery=runner.acks_input_delivery(),
            unenforced_fields=[[field.field, field.reason] for field in check.unenforced],
        )
        return profile

    @property
    def env_spec(self) -> EnvSpec:
        """The environment's spec."""
        return self._session.env_spec

    @property
    def task_spec(self) -> TaskSpec | None:
        """The task's spec, if there is a task."""
        return self._session.task_spec

    @property
    def runner(self) -> BaseRunner:
        """The world."""
        return self._session.runner

    @property
    def runner_name(self) -> str:
        """Key or locator of the runner."""
        return self._session.runner_name

    @property
    def is_warm(self) -> bool:
        """True from ``warm_up`` to the next ``reset``: a world is up and waits for its task."""
        return self._session.warm is not None

    @property
    def env_root(self) -> Path | None:
        """The folder of the environment."""
        return self._session.env_root

    @property
    def task_root(self) -> Path | None:
        """The folder of the task."""
        return self._session.task_root

    @property
    def episode_dir(self) -> Path | None:
        """The artifacts folder of the present or last episode; None before the first reset."""
        return self._episode.folder.path if self._episode is not None else None

    @property
    def artifacts_dir(self) -> Path | None:
        """The same as ``episode_dir``."""
        return self.episode_dir

    @property
    def setup_failed(self) -> list[str]:
        """The set-up stages that failed in the present or last episode, in order: it can only be broken. Else empty."""
        return [] if self._episode is None else [failed.stage for failed in self._episode.failed_setup]

    @property
    def lineage(self) -> dict[str, Any] | None:
        """Where the present or last episode was forked from: ``parent``, ``ancestors``, ``step``, ``index``, ``count``.

        None for an episode that began with ``reset``. Episodes are named by their folders.
        """
        lineage = self._episode.lineage if self._episode is not None else None
        return None if lineage is None else lineage.to_dict()

    @property
    def max_steps(self) -> int | None:
        """The step limit; None is none."""
        return self._session.limits.max_steps

    @property
    def timeout_sec(self) -> float | None:
        """The time limit in seconds from the first observation; None is none."""
        return self._session.limits.timeout_sec

    @property
    def warnings(self) -> list[str]:
        """What was tolerated or cannot be enforced: spec near-misses, fields the runner ignores, failed hooks."""
        return list(self._session.warnings)


def session_info(session: Session, episode: Episode | None) -> SessionInfo:
    """Return what is needed to reach a session's running world."""
    world = session.runner.get_runtime_info()
    spec = session.env_spec
    screen = spec.observation_of("rgb_screen")
    fps = screen.fps if screen is not None else None
    return SessionInfo(
        env_id=spec.id,
        task_id=session.task_spec.id if session.task_spec is not None else None,
        runner_name=session.runner_name,
        platform_family=world.platform_family,
        artifacts_dir=str(episode.folder.path) if episode is not None else None,
        resolution=session.runner.screen_size(),
        fps=int(fps) if fps is not None else None,
        network_enabled=spec.resources.net,
        systemd_enabled=spec.security.use_systemd,
        container_name=world.container_name,
        instance_name=world.instance_name,
        vnc_port=world.vnc_port,
        vnc_url=world.vnc_url,
        vnc_password=world.vnc_password,
        ssh_port=world.ssh_port,
        ssh_user=world.ssh_user,
        ssh_password=world.ssh_password,
    )
