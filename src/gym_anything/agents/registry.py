"""The registry of agents: keys, entry points of the group ``gym_anything.agents``, and locators."""

from __future__ import annotations

from typing import Any

from gym_anything.errors import PluginError
from gym_anything.plugins.registry import KnownPlugin, Registry

ENTRY_POINT_GROUP = "gym_anything.agents"

# The names of our own; "" is no pip extra.
RESERVED: dict[str, str] = {
    "noop": "",
    "random": "",
    "oracle": "",
    "replay": "",
    "human": "",
    "vision": "",
    "qwen_vl": "",
    "ui_tars": "",
    "anthropic_computer": "",
    "openai_computer": "",
}


def _checked(name: str, loaded: object) -> type[Any]:
    """Return ``loaded`` if it is a class with the agent's methods; it need not subclass ``BaseAgent``."""
    if not isinstance(loaded, type):
        raise PluginError(f"agent {name!r} is {loaded!r:.200}, not a class", detail={"agent": name})
    door = "run_episode" if getattr(loaded, "autonomous", False) else "step"
    missing = [method for method in ("init", door, "finish") if not callable(getattr(loaded, method, None))]
    if missing:
        raise PluginError(
            f"agent {name!r} ({loaded.__qualname__}) lacks {', '.join(missing)}; see gym_anything.agents.base",
            detail={"agent": name, "missing": missing},
        )
    return loaded


AGENTS: Registry[type[Any]] = Registry(group=ENTRY_POINT_GROUP, noun="agent", check=_checked, reserved=RESERVED)


def register_agent(key: str, cls: type[Any] | str, *, replace: bool = False) -> None:
    """Give an agent class (or its locator) a short name in this process; conflicts show at first use."""
    AGENTS.register(key, cls, replace=replace)


def resolve_agent(key_or_locator: str) -> type[Any]:
    """Return the class that ``--agent`` names. Raises: PluginError kinds."""
    return AGENTS.resolve(key_or_locator)


def known_agents() -> list[KnownPlugin]:
    """Return every registered agent in alphabetical order, conflicts included; loads none."""
    return AGENTS.known()
