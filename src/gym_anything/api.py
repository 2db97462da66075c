"""``from_config`` and ``make`` where existing code imports them from."""

from gym_anything.episode.factory import from_config, make

__all__ = ["from_config", "make"]
