"""Which worlds a shard's replicas are of: named, never sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gym_anything.errors import SpecInvalid
from gym_anything.plugins.locator import load_locator
from gym_anything.pool.world import ReplicaWorld

if TYPE_CHECKING:
    from gym_anything.pool.environment_choice import EnvironmentChoice

MakeWorld = Callable[[], ReplicaWorld]


@dataclass(frozen=True)
class WorldSource:
    """Where worlds come from, in any process.

    Attributes:
        locator: ``module:function``; called with ``arguments``, it returns what makes a new world at each call.
        arguments: JSON data.
    """

    locator: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_environments(cls, choice: EnvironmentChoice) -> WorldSource:
        """Return the source of an environment's worlds."""
        return cls(f"{__name__}:environment_worlds", {"choice": choice.to_dict()})

    def load(self) -> MakeWorld:
        """Return what makes worlds. Raises: PluginError kinds; SpecInvalid when that is nothing to call."""
        make = load_locator(self.locator)(**self.arguments)
        if not callable(make):
            raise SpecInvalid(f"{self.locator} must return what makes a world, not {type(make).__name__}")
        return make  # type: ignore[no-any-return]


def environment_worlds(choice: Mapping[str, Any]) -> MakeWorld:
    """Return what makes worlds of an environment; its argument is ``EnvironmentChoice.to_dict()``."""
    from gym_anything.pool.environment_choice import EnvironmentChoice  # what a shard of other worlds need not load

    return EnvironmentChoice.from_dict(choice).make_world
