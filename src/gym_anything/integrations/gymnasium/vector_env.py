"""Many environments on a pool as one Gymnasium ``VectorEnv``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, iterate

from gym_anything.episode.factory import load_environment
from gym_anything.episode.outcome import Outcome
from gym_anything.episode.task_choice import choose_task
from gym_anything.errors import (
    ActionError,
    ActionUnsupported,
    DeadlineExceeded,
    GymAnythingError,
    NoReplica,
    ReplicaFailed,
    StateError,
)
from gym_anything.integrations.gymnasium.action_space import ActionMap, ComputerActions
from gym_anything.integrations.gymnasium.batches import ask_all
from gym_anything.integrations.gymnasium.ends import terminated_truncated
from gym_anything.integrations.gymnasium.environments import Environment, found
from gym_anything.integrations.gymnasium.observation_space import (
    Picture,
    beside_the_screen,
    observation_space,
    picture,
    shape_of,
)
from gym_anything.pool.data_server import DataServer, Reply
from gym_anything.pool.environment_world import EnvironmentChoice, environment_rules
from gym_anything.pool.pool import Pool
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.task_spec import TaskSpec

Task = str | Path | Mapping[str, Any] | TaskSpec | None
Flags = npt.NDArray[np.bool_]
Batch = tuple[dict[str, Picture], npt.NDArray[np.float64], Flags, Flags, dict[str, Any]]
RESET_TRIES = 3


@dataclass(slots=True)
class _Place:
    """One of the environments: its episode ("": none is open), whether it waits for a reset, its newest picture."""

    episode: str = ""
    over: bool = True
    seen: Picture | None = None


@dataclass(slots=True)
class _Moment:
    """What one environment gives in one step."""

    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] = field(default_factory=dict)


class ComputerVectorEnv(VectorEnv[dict[str, Picture], Any, Any]):
    """So many computers side by side, each an episode on a replica of a pool.

    Spaces come from the spec; the pool starts with the first ``reset``. Observations are ``{"screen": (n, height,
    width, 3)}``, the caller's own. ``info`` has for each key an array of objects, and under ``_key`` whose they are.

    * An environment whose world fails, or that does not answer within ``step_limit_s``, holds up nobody: its episode is
      truncated with reward 0 and its last picture; ``info["outcome"]`` is broken with blame and ``info["broken"]``
      names environment, replica and reason. It goes on, on another replica, as any that is over.
    * An action that is refused ends nothing: ``info["refused"]`` says why, nothing of it was done.
    * ``autoreset_mode`` is in ``metadata``: ``NextStep`` (the default; that step's action is ignored), ``SameStep``
      (``info["final_obs"]``, ``info["final_info"]``) or ``Disabled`` (``reset(options={"reset_mask": …})``).
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        num_envs: int,
        env: Environment,
        tasks: Sequence[Task] | Task = None,
        *,
        replicas: int | None = None,
        actions: ActionMap | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        step_limit_s: float = 120.0,
        reset_limit_s: float = 600.0,
        make_pool: Callable[[], Pool] | None = None,
        **choice: Any,
    ) -> None:
        """Read the specs; nothing is started.

        Args:
            env: a folder, a file, a spec, or the name of an environment inside a benchmark.
            tasks: one, or several: episodes take them in turn.
            replicas: of the pool, at least ``num_envs``, which is the default. With more, an environment that is over
                goes on at once on one that is warm.
            step_limit_s, reset_limit_s: how long an environment may take. A reset includes its wait for a replica.
            make_pool: makes the pool instead; its worlds understand what ``EnvironmentWorld`` does.
            choice: other arguments of ``EnvironmentChoice``; ``fast_io`` is on.
        Raises: SpecError kinds, PluginError kinds; SpecInvalid where the spec states no resolution; ValueError.
        """
        if num_envs < 1 or (replicas is not None and replicas < num_envs):
            raise ValueError("there is at least one environment, and a replica for each")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is rgb_array or None, not {render_mode!r}")
        self.num_envs, self.render_mode = num_envs, render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 10, "autoreset_mode": self.autoreset_mode}
        env = found(env)
        loaded = load_environment(env, choice.get("overrides"))
        self._tasks = _all_of(tasks)
        self._prompts = [_prompt(task, loaded.root) for task in self._tasks]
        self._turns = itertools.count()
        self._actions = actions or ComputerActions(loaded.spec)
        self.single_observation_space = observation_space(loaded.spec)
        self.single_action_space = self._actions.space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shape = shape_of(self.single_observation_space)
        self._limits = {"reset": reset_limit_s, "step": step_limit_s}
        self._make_pool = make_pool or _pool_maker(env, replicas or num_envs, choice)
        self._places = [_Place() for _ in range(num_envs)]
        self._stack = ExitStack()
        self._server: DataServer | None = None

    # --- Gymnasium's methods -------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Picture], dict[str, Any]]:
        """Begin an episode in each environment, or in those of ``options["reset_mask"]``; open ones are closed.

        Args: seed: of the first, the next one's is one more; or one for each. They go to the worlds.
        Blocks: until all are up. Raises: ReplicaFailed that names the environment which would not come up.
        """
        options = dict(options or {})
        mask = _mask(options.pop("reset_mask", None), self.num_envs)
        if options:
            raise ValueError(f"reset knows the option reset_mask, not {', '.join(sorted(options))}")
        indices = [index for index in range(self.num_envs) if mask[index]]
        moments = [_Moment() for _ in self._places]
        self._begin(dict(zip(indices, self._seeds(seed, indices), strict=True)), moments)
        return self._observations(), _infos(moments)

    def step(self, actions: Any) -> Batch:
        """Do an action in each environment, as ``action_space`` has it, or a list with one for each.

        Blocks: at most ``step_limit_s``, and as long as resets take. Raises: StateError before ``reset``, and for one
            that is over where resets are the caller's; ReplicaFailed for an environment that would not come up again.
        """
        over = {index for index, place in enumerate(self._places) if place.over}
        never = [index for index in over if self._places[index].seen is None]
        if never or (over and self.autoreset_mode is AutoresetMode.DISABLED):
            which = ", ".join(map(str, never or sorted(over)))
            raise StateError(
                f"no episode is open in environment {which}; call reset, with a reset_mask for some of them"
            )
        moments = [_Moment() for _ in self._places]
        self._act(self._each(actions), over, moments)
        if over:
            self._begin(dict(zip(over, self._seeds(None, list(over)), strict=True)), moments)
        self._reset_in_the_same_step(moments)
        rewards = np.array([moment.reward for moment in moments], dtype=np.float64)
        terminations = np.array([moment.terminated for moment in moments], dtype=np.bool_)
        truncations = np.array([moment.truncated for moment in moments], dtype=np.bool_)
        return self._observations(), rewards, terminations, truncations, _infos(moments)

    def render(self) -> tuple[Picture, ...] | None:
        """Return the newest picture of each in mode ``rgb_array``; None without a mode."""
        return None if self.render_mode is None else tuple(self._observations()["screen"])

    def close_extras(self, **_: Any) -> None:
        """Close every episode and the pool."""
        self._server = None
        self._stack.close()

    # --- episodes ------------------------------------------------------------------------------------------------

    def _begin(self, seeds: Mapping[int, int | None], moments: list[_Moment]) -> None:
        """Begin an episode in each of these; on another replica where one fails."""
        server = self._running()
        self._end([index for index in seeds if self._places[index].episode])
        asked = {
            index: ({"task": self._next_task(moments[index]), "seed": seed}, None) for index, seed in seeds.items()
        }
        failed: dict[int, list[str]] = {}
        while asked:
            for index, reply in ask_all(server, "reset", asked, self._limits["reset"], job="gymnasium").items():
                problem = self._begun(index, reply, moments[index])
                if not problem:
                    del asked[index]
                    continue
                failed.setdefault(index, []).append(problem)
                if len(failed[index]) == RESET_TRIES or not _worth_another_replica(reply.error):
                    story = "; ".join(dict.fromkeys(failed[index]))
                    raise ReplicaFailed(f"environment {index} does not come up: {story}") from reply.error

    def _begun(self, index: int, reply: Reply, moment: _Moment) -> str:
        """Take the first picture; return what is wrong, "" when nothing is."""
        place = self._places[index]
        place.episode = reply.episode
        if reply.error is not None:
            return str(reply.error)
        try:
            place.seen = picture(reply.value["observation"], self._shape)
        except GymAnythingError as error:
            self._end([index], broken=True)
            return str(error)
        place.over = False
        moment.info |= {**reply.value["info"], "observation": beside_the_screen(reply.value["observation"])}
        return ""

    def _act(self, actions: Sequence[Any], over: set[int], moments: list[_Moment]) -> None:
        asked: dict[int, tuple[Any, Any]] = {}
        for index, (place, action) in enumerate(zip(self._places, actions, strict=True)):
            if index in over:
                continue
            try:
                gesture = self._actions.gesture(action)
            except ActionError as error:
                moments[index].info["refused"] = str(error)
                continue
            asked[index] = (place.episode, {"actions": gesture.actions, "mark_done": gesture.done})
        for index, reply in ask_all(self._running(), "step", asked, self._limits["step"]).items():
            self._acted(index, reply, moments[index])

    def _acted(self, index: int, reply: Reply, moment: _Moment) -> None:
        place, error = self._places[index], reply.error
        if isinstance(error, ActionError | ActionUnsupported):
            moment.info["refused"] = str(error)
            return
        try:
            if error is not None:
                raise error
            value = reply.value
            if value["observation"]:
                place.seen = picture(value["observation"], self._shape)
        except GymAnythingError as failure:
            self._broke(index, failure, moment)
            return
        moment.info |= {**value["info"], "observation": beside_the_screen(value["observation"])}
        moment.reward = float(value["reward"])
        moment.terminated, moment.truncated = terminated_truncated(value["done"], value["info"])
        if value["done"]:
            self._end([index])

    def _broke(self, index: int, error: GymAnythingError, moment: _Moment) -> None:
        replica = self._places[index].episode.partition(".")[0]
        moment.info["broken"] = f"environment {index} on replica {replica}: {error}"
        root = error.__cause__ if isinstance(error, ReplicaFailed) and error.__cause__ is not None else error
        moment.info["outcome"] = Outcome.from_error(root, default_blame="world", doing="the step").as_dict()
        moment.truncated = True
        self._end([index], broken=True)

    def _end(self, indices: Sequence[int], *, broken: bool = False) -> None:
        """Close what is open there; its replicas are given back."""
        self._running().close([self._places[index].episode for index in indices], broken=broken)
        for index in indices:
            self._places[index].episode, self._places[index].over = "", True

    def _reset_in_the_same_step(self, moments: list[_Moment]) -> None:
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return
        over = [index for index, place in enumerate(self._places) if place.over]
        for index in over:
            moments[index].info = {"final_obs": {"screen": self._places[index].seen}, "final_info": moments[index].info}
        self._begin(dict(zip(over, self._seeds(None, over), strict=True)), moments)

    # --- small things --------------------------------------------------------------------------------------------

    def _running(self) -> DataServer:
        if self.closed:
            raise StateError("these environments are closed")
        if self._server is None:
            self._server = self._stack.enter_context(DataServer(self._make_pool))
        return self._server

    def _next_task(self, moment: _Moment) -> Any:
        turn = next(self._turns) % len(self._tasks)
        moment.info["instruction"] = self._prompts[turn]
        return _plain(self._tasks[turn])

    def _seeds(self, given: int | Sequence[int | None] | None, indices: list[int]) -> list[int | None]:
        if isinstance(given, Sequence):
            if len(given) != self.num_envs:
                raise ValueError(f"{len(given)} seeds for {self.num_envs} environments")
            return [given[index] for index in indices]
        super().reset(seed=given)
        if given is not None:
            return [given + index for index in indices]
        if self._np_random is None:
            return [None] * len(indices)
        return [int(seed) for seed in self.np_random.integers(2**31, size=len(indices))]

    def _each(self, actions: Any) -> list[Any]:
        each = actions if isinstance(actions, list | tuple) else iterate(self.action_space, actions)
        found = list(each)
        if len(found) != self.num_envs:
            raise ActionError(f"{len(found)} actions for {self.num_envs} environments")
        return found

    def _observations(self) -> dict[str, Picture]:
        seen = [place.seen for place in self._places if place.seen is not None]
        if len(seen) < self.num_envs:
            raise StateError("not every environment was seen yet; call reset first")
        return {"screen": np.stack(seen)}


def _pool_maker(env: Any, replicas: int, choice: Mapping[str, Any]) -> Callable[[], Pool]:
    plain = env.to_dict() if isinstance(env, EnvSpec) else env
    chosen = EnvironmentChoice(plain, **{"fast_io": True, **choice}).with_runner()
    rules = environment_rules(chosen, least=replicas)
    return lambda: Pool(chosen.make_world, rules)


def _worth_another_replica(error: GymAnythingError | None) -> bool:
    """Tell whether another one may do better: a mistake in a spec, a late task, a pool without replicas stay so."""
    waited = isinstance(error, NoReplica | DeadlineExceeded)
    return error is None or (error.blame in ("world", "host") and not waited)


def _prompt(task: Task, root: Path | None) -> str:
    spec = choose_task(task, root).spec
    return spec.prompt if spec is not None else ""


def _all_of(tasks: Sequence[Task] | Task) -> list[Task]:
    if isinstance(tasks, str | Path | Mapping | TaskSpec) or tasks is None:
        return [tasks]
    if not tasks:
        raise ValueError("tasks is empty: give one, several or None")
    return list(tasks)


def _plain(task: Task) -> Any:
    if isinstance(task, TaskSpec):
        return task.to_dict()
    return str(task) if isinstance(task, Path) else task


def _mask(given: Any, count: int) -> Flags:
    if given is None:
        return np.ones(count, dtype=np.bool_)
    mask = np.asarray(given)
    if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(f"reset_mask is an array of {count} booleans, not all False")
    return mask


def _infos(moments: Sequence[_Moment]) -> dict[str, Any]:
    """Return for each key an array of objects (a number beside another kind of number stays what it is) and whose."""
    found: dict[str, Any] = {}
    for index, moment in enumerate(moments):
        for key, value in moment.info.items():
            if key not in found:
                found[key] = np.full(len(moments), None, dtype=object)
                found[f"_{key}"] = np.zeros(len(moments), dtype=np.bool_)
            found[key][index] = value
            found[f"_{key}"][index] = True
    return found
