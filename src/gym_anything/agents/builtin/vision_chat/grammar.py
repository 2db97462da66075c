"""What an action grammar is: a way for a chat model to say in text what it wants to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from gym_anything.actions.coords import CoordinateSpace


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer means.

    Attributes:
        actions: of the contract, in screen pixels; one turn.
        finished: why the model stops (``answer``, ``failure``, ``call_user`` …), or None.
        thought: what it said besides the action.
        wording: the action as it said it.
    """

    actions: list[dict[str, Any]] = field(default_factory=list)
    finished: str | None = None
    thought: str = ""
    wording: Any = None


class Grammar(Protocol):
    """Pure: text in, actions out."""

    def system_prompt(self, extra: str) -> str:
        """Return the model's instructions: how it has to answer."""
        ...

    def task_prompt(self, task: str) -> str:
        """Return what the first screenshot comes with."""
        ...

    def parse(self, text: str, space: CoordinateSpace, screen: tuple[int, int]) -> Said:
        """Return what an answer means. Raises: ValueError (ActionError is one) fit to be told to the model."""
        ...
