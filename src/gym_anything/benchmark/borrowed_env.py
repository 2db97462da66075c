"""The environment as an autonomous agent gets it: on loan, until the time is up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from gym_anything.errors import StateError

_NOT_THE_AGENTS = frozenset({"reset", "abort", "set_episode_limits", "set_verifier_overrides", "set_roots"})


class BorrowedEnv:
    """Passes every call on to the environment, one at a time, until ``revoke``.

    ``close`` ends the episode (it is judged) and leaves the environment to its owner. What only the owner may do
    (``reset``, limits, verifier overrides) raises ``StateError``.

    Attributes:
        last_info: what the agent's last ``step`` returned as ``info``.
        last_reward: and as reward.
        steps: how often it stepped.
        is_done: the episode is over.
    """

    def __init__(self, env: Any, *, on_step: Callable[[int], None] = lambda _steps: None) -> None:
        """Args: on_step: told how many steps there were, after each."""
        self._env = env
        self._on_step = on_step
        self._lock = threading.RLock()
        self._revoked: str | None = None
        self.last_info: dict[str, Any] = {}
        self.last_reward = 0.0
        self.steps = 0
        self.is_done = False

    def step(self, actions: Any, *args: Any, **kwargs: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Do actions; see the environment's ``step``."""
        with self._lock:
            self._check()
            obs, reward, done, info = self._env.step(actions, *args, **kwargs)
            self.steps += 1
            self.last_reward, self.is_done = reward, self.is_done or done
            self.last_info = dict(info) if isinstance(info, Mapping) else {}
            self._on_step(self.steps)
            return obs, reward, done, info

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
        self._check()
        value = getattr(self._env, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                self._check()
                return value(*args, **kwargs)

        return call

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
