"""An agent as its author would write it after reading the guide."""

from gym_anything.agents.base import BaseAgent


class IsaacPilotAgent(BaseAgent):
    def step(self, obs, action_outputs):
        self.done = obs["telemetry"]["ticks"] >= 8
        return [{"tool_id": "sim", "actions": [{"action": "step_sim", "steps": 4}]}] if not self.done else []
