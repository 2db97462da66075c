"""``noop``: does nothing and says so. A task that it passes is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gym_anything.agents.base import BaseAgent


class NoopAgent(BaseAgent):
    """Does nothing: looks once (agent argument steps=N: N times) and stops."""

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """See ``BaseAgent``."""
        super().init(task_description, display_resolution, save_path)
        self._left = int(self.agent_args.get("steps", 1))

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Look once."""
        self._left -= 1
        self.done = self._left <= 0
        return [{"tool_id": f"look_{self._left}", "actions": [{"action": "screenshot"}]}]
