"""The stranger's policies."""

from __future__ import annotations

from typing import Any

from gym_anything.agents.base import BaseAgent


class RoverPilot(BaseAgent):
    """Drives until the telemetry says that the ridge is reached."""

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        """One cell at a time; done at the ridge."""
        ridge = int(self.agent_args.get("ridge", 3))
        if obs["telemetry"]["cell"] >= ridge:
            self.done = True
            return []
        return [{"tool_id": "drive", "actions": [{"action": "drive", "cells": 1}]}]


class RoverAutopilot(BaseAgent):
    """Owns the whole episode."""

    autonomous = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        """Drive there in one go."""
        obs, _, _, info = env.step([{"action": "drive", "cells": 3}])
        return {"seen": obs["telemetry"]["cell"], "moved": info["action_result"]["output"]["moved"]}
