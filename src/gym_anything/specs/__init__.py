"""Specs: what an environment and a task are, as frozen data.

``EnvSpec`` and ``TaskSpec`` can be imported from here; inside the package the defining modules are imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym_anything.specs.env_spec import EnvSpec as EnvSpec
    from gym_anything.specs.task_spec import TaskSpec as TaskSpec

__all__ = ["EnvSpec", "TaskSpec"]


def __getattr__(name: str) -> Any:
    """Import the two classes when they are asked for: pydantic costs more than the rest of the package."""
    if name == "EnvSpec":
        from gym_anything.specs.env_spec import EnvSpec

        return EnvSpec
    if name == "TaskSpec":
        from gym_anything.specs.task_spec import TaskSpec

        return TaskSpec
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
