"""``random``: clicks, types and scrolls at random, the same way for the same seed. A floor to compare with."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.agents.base import BaseAgent

_WORDS = ("hello", "42", "data", "Ünïcødé", "=1+1", "test")
_KEYS = (["Return"], ["Tab"], ["Escape"], ["ctrl", "s"], ["Down"], ["BackSpace"])


class RandomAgent(BaseAgent):
    """Clicks, types and scrolls at random until a limit ends the episode (agent argument steps=N: N times).

    Agent argument ``seed``: what the choices follow; default: the episode's seed and attempt.
    """

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """See ``BaseAgent``."""
        super().init(task_description, display_resolution, save_path)
        context = self.episode_context
        seed = self.agent_args.get("seed", f"{context.get('seed')}/{context.get('attempt')}/{context.get('task_id')}")
        self._random = random.Random(str(seed))
        steps = self.agent_args.get("steps")
        self._left = None if steps is None else int(steps)
        self._count = 0

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Do one random thing."""
        self._count += 1
        if self._left is not None:
            self._left -= 1
            self.done = self._left <= 0
        return [{"tool_id": f"random_{self._count}", "actions": [self._action()]}]

    def _action(self) -> dict[str, Any]:
        pick = self._random
        kind = pick.choices(
            ("left_click", "double_click", "right_click", "drag", "scroll", "text", "keys"), (8, 2, 1, 1, 2, 2, 2)
        )
        match kind[0]:
            case "drag":
                return {"mouse": {"left_click_drag": [self._point(), self._point()]}}
            case "scroll":
                return {"mouse": {"move": self._point(), "scroll": pick.choice((-3, -1, 1, 3))}}
            case "text":
                return {"keyboard": {"text": pick.choice(_WORDS)}}
            case "keys":
                return {"keyboard": {"keys": pick.choice(_KEYS)}}
            case click:
                return {"mouse": {click: self._point()}}

    def _point(self) -> list[int]:
        width, height = self.display_resolution
        return [self._random.randrange(width), self._random.randrange(height)]
