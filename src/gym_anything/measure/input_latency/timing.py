"""The two boundaries of an action: the runner's own, and a whole step with its observation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import WorldLost
from gym_anything.measure.input_latency.guest_desktop import GuestDesktop
from gym_anything.measure.input_latency.timed_actions import Action, TimedAction

BOUNDARIES = {
    "runner_inject_action": "from before runner.inject_action(action) until it has returned",
    "env_step": "from before env.step([action], wait_between_actions=0.0) until the observation is there",
}
"""Key to what is timed."""

_NO_LIMIT = 1_000_000_000
_WARM_UP = 2
OnRound = Callable[[float], None]
"""Told how much is done, 0 to 1."""


@dataclass
class Samples:
    """The times of one action at one boundary, in milliseconds."""

    values: list[float] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; every key is always there."""
        return {
            "p50": round(statistics.median(self.values), 4),
            "p95": round(float(np.percentile(self.values, 95)), 4),
            "max": round(max(self.values), 4),
            "samples": [round(value, 4) for value in self.values],
        }


Times = dict[str, dict[str, Samples]]
"""Boundary -> action -> times."""


def time_actions(
    env: GymAnythingEnv, desktop: GuestDesktop, actions: list[TimedAction], rounds: int, on_round: OnRound
) -> Times:
    """Time every action at both boundaries, by turns; the screen is at rest before each.

    Two rounds more are done first and not counted.
    Raises: ActionUnsupported for an action that the world cannot do; WorldLost.
    """
    env.set_episode_limits(max_steps=_NO_LIMIT, timeout_sec=_NO_LIMIT)
    do: dict[str, Callable[[Action], Any]] = {
        "runner_inject_action": env.runner.inject_action,
        "env_step": lambda action: _step(env, action),
    }
    times: Times = {boundary: {action.key: Samples() for action in actions} for boundary in BOUNDARIES}
    for number in range(-_WARM_UP, rounds):
        for action in actions:
            for side, boundary in enumerate(BOUNDARIES):
                made = action.make(2 * (number + _WARM_UP) + side)
                desktop.rest_shortly()
                began = time.perf_counter()
                do[boundary](made)
                taken = (time.perf_counter() - began) * 1000
                desktop.act(*action.after)
                if number >= 0:
                    times[boundary][action.key].values.append(taken)
        on_round((number + 1 + _WARM_UP) / (rounds + _WARM_UP))
    return times


def _step(env: GymAnythingEnv, action: Action) -> None:
    _, _, done, info = env.step([action], wait_between_actions=0.0)
    if done:
        raise WorldLost(f"the episode ended while it was measured: {info.get('outcome')}")
