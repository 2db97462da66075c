"""``BaseAgent`` under the path that existing agents import it from."""

from gym_anything.agents.base import BaseAgent

__all__ = ["BaseAgent"]
