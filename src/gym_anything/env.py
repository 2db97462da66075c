"""``GymAnythingEnv`` where existing code imports it from."""

from gym_anything.episode.env import GymAnythingEnv

__all__ = ["GymAnythingEnv"]
