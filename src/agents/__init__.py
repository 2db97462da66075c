"""Import path of agents written for this system: ``agents.agents.base``. New code uses ``gym_anything.agents``."""
