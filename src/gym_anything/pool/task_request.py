"""What a pool is asked to begin an episode with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from gym_anything.errors import SpecInvalid
from gym_anything.specs.task_spec import TaskSpec


class TaskRequest(BaseModel):
    """One episode to begin."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    env: str = ""
    """Which of a pool's kinds of environment; needed where there are several."""

    task: str | dict[str, Any] | None = None
    """A folder's name below the environment's ``tasks``, a task's folder or file, or a task as a dict; None is none."""

    seed: int | None = None
    """Handed to the world and the reset script."""

    max_steps: int | None = None
    """Instead of the task's own."""

    timeout_sec: float | None = None
    """Instead of the task's own."""

    verifier: dict[str, Any] = {}
    """How to judge instead of how the task says; see ``set_verifier_overrides``."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for ``read``."""
        return self.model_dump()

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return the request that is meant: one, a mapping of its fields, or a task alone.

        A mapping with an ``id`` is a task. Raises: SpecInvalid.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, TaskSpec):
            given = {"task": given.to_dict()}
        elif isinstance(given, Path):
            given = {"task": str(given)}
        elif isinstance(given, str) or given is None or (isinstance(given, Mapping) and "id" in given):
            given = {"task": dict(given) if isinstance(given, Mapping) else given}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the request"
            raise SpecInvalid(f"a request for an episode: {where}: {first['msg']}", detail={"key": where}) from None
