"""Naming agents: keys, locators, and classes that lack what an agent needs."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.agents.base import BaseAgent
from gym_anything.agents.registry import AGENTS, known_agents, register_agent, resolve_agent
from gym_anything.errors import PluginError, UnknownPlugin

pytestmark = pytest.mark.unit


class Duck:
    """Has the methods without the base class."""

    def __init__(self, agent_args: dict[str, Any], verbose: bool, debug: bool) -> None: ...
    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None: ...
    def step(self, obs: Any, action_outputs: Any) -> list[Any]:
        return []

    def finish(self, info: Any) -> None: ...


class Autonomous:
    """Owns the loop."""

    autonomous = True

    def init(self, **_: Any) -> None: ...
    def run_episode(self, env: Any, task_description: str) -> None: ...
    def finish(self, **_: Any) -> None: ...


class AutonomousWithoutDoor(Autonomous):
    """Says it owns the loop and does not."""

    run_episode = None  # type: ignore[assignment]


def test_the_bundled_agents_are_known_and_load() -> None:
    names = [plugin.key for plugin in known_agents()]
    assert {"noop", "oracle", "random"} <= set(names)
    for name in ("noop", "oracle", "random"):
        assert issubclass(resolve_agent(name), BaseAgent)


def test_a_locator_needs_no_registration_and_no_base_class() -> None:
    assert resolve_agent(f"{__name__}:Duck") is Duck
    assert resolve_agent(f"{__name__}:Autonomous") is Autonomous


def test_an_unknown_agent_names_near_matches_and_what_is_known() -> None:
    with pytest.raises(UnknownPlugin, match="oracle") as caught:
        resolve_agent("orcale")
    assert "noop" in str(caught.value)


@pytest.mark.parametrize("locator", ["json:dumps", "json:JSONDecoder", f"{__name__}:AutonomousWithoutDoor"])
def test_what_is_no_agent_says_what_it_lacks(locator: str) -> None:
    with pytest.raises(PluginError, match=r"not a class|lacks"):
        resolve_agent(locator)


def test_a_name_registered_in_code_resolves() -> None:
    register_agent("duck-of-this-test", Duck)
    try:
        assert resolve_agent("duck-of-this-test") is Duck
    finally:
        AGENTS.unregister("duck-of-this-test")


def test_existing_agents_find_the_base_class_where_they_import_it() -> None:
    import agents.agents.base

    assert agents.agents.base.BaseAgent is BaseAgent
