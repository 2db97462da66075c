"""What an agent's ``step`` returned, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gym_anything.errors import AgentError


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """One turn: the actions of one ``env.step``.

    Attributes:
        tool_id: the agent's name for it; comes back with its output.
        actions: action dicts, not yet parsed.
        metadata: goes into the trajectory beside the step.
    """

    tool_id: str
    actions: tuple[Any, ...]
    metadata: Mapping[str, Any] | None = None


def read_turns(answer: Any) -> list[AgentTurn]:
    """Check what ``step`` returned.

    None counts as an empty list. A turn without ``tool_id`` is given one.
    Raises: AgentError that says what is wrong with which turn.
    """
    if answer is None:
        return []
    if not isinstance(answer, list | tuple):
        raise AgentError(f"step() must return a list of turns, got {type(answer).__name__} {answer!r:.200}")
    return [_read_turn(index, turn) for index, turn in enumerate(answer)]


def _read_turn(index: int, turn: Any) -> AgentTurn:
    if not isinstance(turn, Mapping):
        raise AgentError(f"turn {index} of step() must be a dict with 'actions', got {turn!r:.200}")
    unknown = [key for key in turn if key not in ("tool_id", "actions", "metadata")]
    if unknown or "actions" not in turn:
        found = f"has the unknown key {unknown[0]!r:.80}" if unknown else "has no 'actions'"
        raise AgentError(f"turn {index} of step() {found}; it may hold tool_id, actions, metadata")
    actions = turn["actions"]
    if isinstance(actions, Mapping):
        actions = [actions]
    if not isinstance(actions, list | tuple):
        raise AgentError(f"turn {index} of step(): 'actions' must be a list of action dicts, got {actions!r:.200}")
    metadata = turn.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise AgentError(f"turn {index} of step(): 'metadata' must be a dict, got {metadata!r:.200}")
    tool_id = turn.get("tool_id")
    return AgentTurn(str(tool_id) if tool_id is not None else f"turn_{index}", tuple(actions), metadata)
