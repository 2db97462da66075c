"""Real environments as the worlds of a pool: each replica keeps one warm, and plays whatever task it is given.

::

    choice = EnvironmentChoice("benchmarks/desktop_basics/environments/desktop_basics_env")
    with DataServer(lambda: Pool(choice.make_world, environment_rules(choice, least=4, most=4))) as server:
        begun = server.reset([{"task": "write_note", "seed": 1}, {"task": "draw_line"}])
        played = server.step([(reply.episode, {"mouse": {"left_click": [10, 10]}}) for reply in begun if reply.ok])

Operations of a lease (``Lease.perform``), each with its argument:

=============  =============================================  ==========================================================
``reset``      ``TaskRequest``, a mapping of its fields, or   ``{"observation", "info"}``; ``info``: ``task_id``,
               the task alone                                 ``episode_dir``, ``warnings``
``step``       an action, a list of them, or a mapping with   ``{"observation", "reward", "done", "info"}``
               ``actions`` and keywords of ``env.step``
``evaluate``   none                                           the judge's report; the episode goes on
``finish``     none                                           the final report; the episode is completed
``observe``    none                                           an observation
``describe``   none                                           where the world can be reached (``SessionInfo``)
``log``        ``{"event", "data"}``                          none
``copy_to``    ``{"host_path", "guest_path"}``                none
``copy_from``  ``{"guest_path", "host_path"}``                the host path
=============  =============================================  ==========================================================

``observe``, ``describe`` and ``copy_from`` only read: a failure that may pass is tried again (``PoolRules.reads``).

An episode that is open when its lease ends is completed as ``close`` does, with all its artifacts. A world that is lost
raises ``WorldLost`` here, so that its replica recovers and its task can be tried on another one; the episode's folder,
whose outcome is broken, is named in the error's detail.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.episode.limits import WORLD_BROKE
from gym_anything.errors import Aborted, ActionError, GymAnythingError, StateError, WorldLost
from gym_anything.pool.environment_choice import EnvironmentChoice as EnvironmentChoice
from gym_anything.pool.environment_choice import environment_rules as environment_rules
from gym_anything.pool.task_request import TaskRequest
from gym_anything.pool.world import Vitals

_MEASURE_EVERY_S = 60.0
_STEP_KEYS = frozenset(
    {
        "actions",
        "mark_done",
        "wait_between_actions",
        "capture_observation",
        "settle_after_actions",
        "trajectory_metadata",
        "settle_ignore",
    }
)


class EnvironmentWorld:
    """See ``ReplicaWorld``: one environment, from its first start to its end."""

    def __init__(self, choice: EnvironmentChoice) -> None:
        """Nothing is loaded or started before ``create``."""
        self._choice = choice
        self._env: GymAnythingEnv | None = None
        self._lock = threading.Lock()
        self._aborted = self._used = False
        self._changing = True
        self._measured_at = float("-inf")

    # --- life ----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Load the environment and bring a world of it up, up to its task."""
        env = self._choice.make_env()
        with self._lock:
            self._env = env
            if self._aborted:
                raise Aborted("create: the replica was given up")
        with self._changes():
            env.warm_up(**self._choice.cache_arguments())

    def recycle(self) -> None:
        """Complete what is open, and bring a fresh world up; does nothing when nobody used this one."""
        if not self._used:
            return
        env = self._running()
        with self._changes():
            env.close()
            env.set_task(None)
            env.warm_up(**self._choice.cache_arguments())
        self._used, self._measured_at = False, float("-inf")

    def probe(self, deep: bool) -> Vitals:
        """Ask the runner; while this replica's own thread takes the world down or up there is nothing to ask."""
        env = self._env
        if env is None or self._changing:
            return Vitals()
        try:
            env.runner.check_life(deep)
            memory_mib = self._memory_mib(env)
        except GymAnythingError:
            if self._changing:
                return Vitals()
            raise
        return Vitals(memory_mib)

    def abort(self) -> None:
        """See ``ReplicaWorld``."""
        with self._lock:
            self._aborted = True
            env = self._env
        if env is not None:
            env.abort()

    def destroy(self) -> None:
        """Stop the world; an open episode's outcome is that of its end."""
        self._changing = True
        if self._env is not None:
            self._env.close()

    # --- work ----------------------------------------------------------------------------------------------------

    def perform(self, operation: str, argument: Any) -> Any:
        """Do one operation of the table above. Raises: what the environment raises; StateError for an unknown one."""
        work = _OPERATIONS.get(operation)
        if work is None:
            raise StateError(f"an environment knows no {operation!r}; it knows {', '.join(_OPERATIONS)}")
        env = self._running()
        self._used = True
        return work(self, env, argument)

    def _reset(self, env: GymAnythingEnv, argument: Any) -> dict[str, Any]:
        request = TaskRequest.read(argument)
        with self._changes(not env.is_warm):
            if not env.is_warm:
                env.close()
            env.set_task(request.task)
            if request.max_steps is not None or request.timeout_sec is not None:
                env.set_episode_limits(max_steps=request.max_steps, timeout_sec=request.timeout_sec)
            if request.verifier:
                env.set_verifier_overrides(request.verifier)
            observation = env.reset(seed=request.seed, **self._choice.cache_arguments())
        task_id = None if env.task_spec is None else env.task_spec.id
        info = {"task_id": task_id, "episode_dir": str(env.episode_dir), "warnings": env.warnings}
        return {"observation": observation, "info": info}

    def _step(self, env: GymAnythingEnv, argument: Any) -> dict[str, Any]:
        keywords = {"actions": argument}
        if isinstance(argument, Mapping) and "actions" in argument:
            unknown = sorted(set(argument) - _STEP_KEYS)
            if unknown:
                raise ActionError(f"a step has no {', '.join(unknown)}; it has {', '.join(sorted(_STEP_KEYS))}")
            keywords = dict(argument)
        observation, reward, done, info = env.step(**keywords)
        if done and info.get("reason") == WORLD_BROKE:
            raise _lost(env, info)
        return {"observation": observation, "reward": reward, "done": done, "info": info}

    def _evaluate(self, env: GymAnythingEnv, argument: Any) -> dict[str, Any]:
        return env.evaluate()

    def _finish(self, env: GymAnythingEnv, argument: Any) -> dict[str, Any]:
        with self._changes():
            env.close()
        return {**env.evaluate(), "episode_dir": str(env.episode_dir)}

    def _observe(self, env: GymAnythingEnv, argument: Any) -> dict[str, Any]:
        return env.capture_observation()

    def _describe(self, env: GymAnythingEnv, argument: Any) -> dict[str, Any]:
        return env.get_session_info().to_dict()

    def _log(self, env: GymAnythingEnv, argument: Any) -> None:
        env.log_trajectory_event(str(argument["event"]), argument.get("data"))

    def _copy_to(self, env: GymAnythingEnv, argument: Any) -> None:
        env.copy_to_env(argument["host_path"], argument["guest_path"])

    def _copy_from(self, env: GymAnythingEnv, argument: Any) -> str:
        return env.copy_from_env(argument["guest_path"], argument["host_path"])

    # --- inside --------------------------------------------------------------------------------------------------

    def _running(self) -> GymAnythingEnv:
        if self._env is None:
            raise StateError("this replica's environment was not created yet")
        return self._env

    @contextmanager
    def _changes(self, really: bool = True) -> Iterator[None]:
        """Say meanwhile that the world is taken down or up: no sign of life is expected."""
        self._changing = really
        try:
            yield
        finally:
            self._changing = False

    def _memory_mib(self, env: GymAnythingEnv) -> float | None:
        now = time.monotonic()
        if now - self._measured_at < _MEASURE_EVERY_S:
            return None
        self._measured_at = now
        return env.runner.memory_mib()


def _lost(env: GymAnythingEnv, info: Mapping[str, Any]) -> WorldLost:
    outcome = info.get("outcome") or {}
    return WorldLost(
        str(outcome.get("story") or "the world is gone"),
        detail={"episode_dir": str(env.episode_dir), "outcome": outcome},
    )


_OPERATIONS: dict[str, Callable[[EnvironmentWorld, GymAnythingEnv, Any], Any]] = {
    "reset": EnvironmentWorld._reset,
    "step": EnvironmentWorld._step,
    "evaluate": EnvironmentWorld._evaluate,
    "finish": EnvironmentWorld._finish,
    "observe": EnvironmentWorld._observe,
    "describe": EnvironmentWorld._describe,
    "log": EnvironmentWorld._log,
    "copy_to": EnvironmentWorld._copy_to,
    "copy_from": EnvironmentWorld._copy_from,
}
