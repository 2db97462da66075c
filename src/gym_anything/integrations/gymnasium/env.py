"""One environment as a Gymnasium ``Env``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np

from gym_anything.episode.env import CacheLevel
from gym_anything.episode.factory import make
from gym_anything.errors import StateError
from gym_anything.integrations.gymnasium import ID
from gym_anything.integrations.gymnasium.action_space import ActionMap, ComputerActions
from gym_anything.integrations.gymnasium.ends import terminated_truncated
from gym_anything.integrations.gymnasium.environments import Environment, found
from gym_anything.integrations.gymnasium.observation_space import (
    Picture,
    beside_the_screen,
    observation_space,
    picture,
    shape_of,
)
from gym_anything.specs.task_spec import TaskSpec

Observation = dict[str, Picture]


class ComputerEnv(gymnasium.Env[Observation, Any]):
    """A computer that is used by screen, mouse and keyboard.

    Both spaces come from the spec: nothing is started before ``reset``. Observations are ``{"screen": array}``, the
    caller's own; other modalities are in ``info["observation"]``. Rewards are the task's. An episode that loses its
    world is truncated and keeps its last picture; ``info["outcome"]`` tells whose fault it is.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(
        self,
        env: Environment,
        task: str | Path | Mapping[str, Any] | TaskSpec | None = None,
        *,
        render_mode: str | None = None,
        actions: ActionMap | None = None,
        fast_io: bool = True,
        pacing: str | None = None,
        runner: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        use_cache: bool = False,
        cache_level: CacheLevel = "pre_start",
        use_savevm: bool = False,
    ) -> None:
        """Read the specs; nothing is started.

        Args:
            env: a folder, a file, a spec, or the name of an environment inside a benchmark.
            task, overrides, runner, fast_io, pacing: as for ``gym_anything.make``.
            render_mode: ``rgb_array``, or None.
            actions: the space of actions and what they mean; by default ``ComputerActions``.
            use_cache, cache_level, use_savevm: how ``reset`` brings the world up.
        Raises: SpecError kinds, PluginError kinds; SpecInvalid where the spec states no resolution.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode is rgb_array or None, not {render_mode!r}")
        given = {"env": env, "task": task, "actions": actions, "fast_io": fast_io, "pacing": pacing, "runner": runner}
        given |= {"overrides": overrides, "use_cache": use_cache, "cache_level": cache_level, "use_savevm": use_savevm}
        self.spec = copy.deepcopy(gymnasium.spec(ID))  # what ``gymnasium.make`` does, for those who do without it
        self.spec.kwargs = {**given, "render_mode": render_mode}
        self.render_mode = render_mode
        self.computer = make(found(env), task, overrides=overrides, fast_io=fast_io, runner=runner, pacing=pacing)
        seen = observation_space(self.computer.env_spec)
        self.observation_space = cast("gymnasium.Space[Observation]", seen)
        self._actions = actions or ComputerActions(self.computer.env_spec)
        self.action_space = self._actions.space
        self._how = {"use_cache": use_cache, "cache_level": cache_level, "use_savevm": use_savevm}
        self._shape = shape_of(seen)
        self._last: Picture | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; ``info`` has the ``instruction`` and the ``episode_dir``.

        Args:
            seed: goes to the world, too. Without one, the generator that an earlier one began gives the next.
            options: ``use_cache``, ``cache_level`` and ``use_savevm`` of this reset.
        Blocks: as long as the world takes to come up. Raises: WorldError kinds, UnsupportedFeature; ValueError for an
            unknown option.
        """
        super().reset(seed=seed)
        unknown = set(options or {}) - set(self._how)
        if unknown:
            raise ValueError(f"options of reset are {', '.join(self._how)}, not {', '.join(sorted(unknown))}")
        if seed is None and self._np_random is not None:
            seed = int(self.np_random.integers(2**31))
        observation = self.computer.reset(seed=seed, **{**self._how, **(options or {})})
        self._last = picture(observation, self._shape)
        task = self.computer.task_spec
        info: dict[str, Any] = {
            "instruction": task.prompt if task is not None else "",
            "episode_dir": str(self.computer.episode_dir),
            "observation": beside_the_screen(observation),
        }
        return {"screen": self._last.copy()}, info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Do one action of the space, or actions as ``gym_anything``'s own ``step`` takes them.

        Raises: ActionError (nothing was done), ActionUnsupported, InputNotDelivered, InputDeliveryUnknown, StateError.
        """
        gesture = self._actions.gesture(action)
        observation, reward, done, info = self.computer.step(gesture.actions, mark_done=gesture.done)
        if observation:
            self._last = picture(observation, self._shape)
        terminated, truncated = terminated_truncated(done, info)
        info = {**info, "observation": beside_the_screen(observation)}
        return {"screen": self._picture().copy()}, float(reward), terminated, truncated, info

    def render(self) -> Any:
        """Return the newest observed picture (height, width, 3) in mode ``rgb_array``; None without a mode."""
        return None if self.render_mode is None else self._picture().copy()

    def close(self) -> None:
        """Judge an episode that is open and stop the world. Harmless when repeated."""
        self.computer.close()
        super().close()

    def _picture(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        if self._last is None:
            raise StateError("nothing was seen yet; call reset first")
        return self._last
