"""The environment as an autonomous agent gets it: on loan, until the time is up."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gym_anything.benchmark import phases
from gym_anything.benchmark.phases import PhaseLimits, asked_wait_s
from gym_anything.errors import ActionError, ActionUnsupported, StateError

_SETTINGS = frozenset({"set_task", "set_episode_limits", "set_verifier_overrides", "set_roots", "set_reporter"})
_NOT_THE_AGENTS = _SETTINGS | {"reset", "warm_up", "abort"}
_THE_JUDGES = frozenset({"evaluate", "task_root", "env_root", "task_spec", "runner", "fork"})
"""What shows the verifier, its files or its verdict; a fork is an environment that nobody has lent."""
_LOOKS = frozenset({"capture_observation", "capture_screenshot_image"})
_LONG_CALLS = frozenset(
    {"evaluate", "fork", "apply_post_reset_setup", "save_state", "load_state", "copy_to_env", "copy_from_env"}
)
InWorld = Callable[[float], contextlib.AbstractContextManager[None]]
_NO_LIMITS = PhaseLimits(phases.BOOT_S, phases.BOOT_S, math.inf)


class BorrowedEnv:
    """Passes every call on to the environment, one at a time, until ``revoke``.

    ``close`` ends the episode (it is judged) and leaves the environment to its owner. What only the owner may do
    (``reset``, limits, verifier overrides) raises ``StateError``, and so does what shows the judge (``evaluate``, the
    task's spec and folder, the runner), but for an agent whose results say that it saw it.

    Attributes:
        last_info: what the agent's last ``step`` returned as ``info``.
        last_reward: and as reward.
        steps: how often it stepped, refused ones included.
        is_done: the episode is over.
    """

    def __init__(
        self,
        env: Any,
        *,
        on_step: Callable[[int], None] = lambda _steps: None,
        on_timing: Callable[[Mapping[str, Any]], None] = lambda _facts: None,
        in_world: Callable[[float], contextlib.AbstractContextManager[None]] = lambda _limit_s: (
            contextlib.nullcontext()
        ),
        limits: PhaseLimits = _NO_LIMITS,
        shows_judge: bool = False,
    ) -> None:
        """Bind it.

        Args:
            on_step: told how many steps there were, after each.
            on_timing: told how long each took, as ``AgentLoop`` is for turns; ``tool_id`` is None.
            in_world: entered around every call that waits on the world, with the seconds that it may take.
            shows_judge: the agent may see the judge.
        """
        self._env = env
        self._on_step = on_step
        self._on_timing = on_timing
        self._in_world = in_world
        self._limits = limits
        self._shows_judge = shows_judge
        self._lock = threading.RLock()
        self._revoked: str | None = None
        self._agents_turn_began, self._agent_s = time.perf_counter(), 0.0
        self.last_info: dict[str, Any] = {}
        self.last_reward = 0.0
        self.steps = 0
        self.is_done = False

    def step(self, actions: Any, *args: Any, **kwargs: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Do actions; see the environment's ``step``."""
        gap_s = kwargs.get("wait_between_actions", args[0] if args else None)
        with self._lock:
            self._check()
            with self._worlds_turn(self._limits.step_s + asked_wait_s(actions, gap_s)):
                began = time.perf_counter()
                try:
                    obs, reward, done, info = self._env.step(actions, *args, **kwargs)
                except (ActionError, ActionUnsupported):
                    self._count(actions, began, None)
                    raise
                self.last_reward, self.is_done = reward, self.is_done or done
                self.last_info = dict(info) if isinstance(info, Mapping) else {}
                self._count(actions, began, self.last_info)
            return obs, reward, done, info

    @contextlib.contextmanager
    def _worlds_turn(self, limit_s: float) -> Iterator[None]:
        self._agent_s += time.perf_counter() - self._agents_turn_began
        try:
            with self._in_world(limit_s):
                yield
        finally:
            self._agents_turn_began = time.perf_counter()

    def _count(self, actions: Any, began: float, info: Mapping[str, Any] | None) -> None:
        """Count a step; one without ``info`` was refused."""
        env_step_s, agent_s = time.perf_counter() - began, self._agent_s
        self._agent_s = 0.0
        self.steps += 1
        self._on_step(self.steps)
        self._on_timing(
            {
                "step": self.steps,
                "tool_id": None,
                "actions": len(actions) if isinstance(actions, list | tuple) else int(bool(actions)),
                "refused": info is None,
                "agent_ms": round(agent_s * 1000, 3),
                "env_step_ms": round(env_step_s * 1000, 3),
                "timings": info.get("timings") if info is not None else None,
            }
        )

    def close(self) -> None:
        """End the episode; the owner closes the environment itself."""
        with self._lock:
            if self._revoked is None and not self.is_done:
                self.step([], mark_done=True)

    def revoke(self, reason: str, *, wait_s: float) -> bool:
        """Take the environment back: wait for a call that is running, then refuse every further one.

        Returns: False when a call was still running after ``wait_s``; the environment must then be aborted.
        """
        if not self._lock.acquire(timeout=wait_s):
            return False
        self._revoked = reason
        self._lock.release()
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _NOT_THE_AGENTS:
            raise _refusal(f"{name} is not the agent's to call; the environment is only lent to it")
        if name in _THE_JUDGES and not self._shows_judge:
            raise _refusal(
                f"{name} shows the judge's side, which is not the agent's to see; one that proves tasks says "
                "wants_task_root = True, and its results say that it saw it"
            )
        self._check()
        value = getattr(self._env, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                self._check()
                limit_s = self._limit_s(name)
                with contextlib.nullcontext() if limit_s is None else self._worlds_turn(limit_s):
                    return value(*args, **kwargs)

        return call

    def _limit_s(self, name: str) -> float | None:
        """Return how long a call may take; None for one that does not wait on the world."""
        if name in _LOOKS:
            return self._limits.step_s
        return phases.STEP_S + self._limits.judge_s if name in _LONG_CALLS else None

    def __enter__(self) -> BorrowedEnv:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._revoked is not None:
            raise _refusal(self._revoked)


def _refusal(message: str) -> StateError:
    """A wrong state that the agent is to blame for, not whoever called us."""
    error = StateError(message)
    error.blame = "policy"
    return error
