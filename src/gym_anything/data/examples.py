"""What the two chat formats share: an example, its facts, and when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything.data.chat import VERSION, Conversation, conversation
from gym_anything.data.columns import EPISODE_COLUMNS, Column, episode_row
from gym_anything.data.trajectory import Trajectory

_FACTS = (
    "episode_id", "exp", "benchmark", "env", "task", "split", "difficulty", "tags", "task_digest", "prompt",
    "agent", "model", "runner", "seed", "attempt", "status", "score", "reward", "steps",
    "screen_width", "screen_height",
)  # fmt: skip

FACT_COLUMNS = (
    Column("schema", "whole", f"version of the format: {VERSION}"),
    *(column for column in EPISODE_COLUMNS if column.name in _FACTS),
    Column("turns", "whole", "messages of the assistant"),
    Column("refused", "whole", "turns whose actions were refused; the message after one says so"),
    Column("missing", "whole", "turns before which there should be a picture and none was kept"),
)
"""What each example has beside ``messages`` and ``images``."""

NO_TURNS, NO_PROMPT, NO_PICTURES = "without a turn of the agent", "without its prompt", "without all its pictures"


def example_of(trajectory: Trajectory, *, allow_missing: bool) -> Conversation | str:
    """Return an episode as chat, or why it is none.

    Args: allow_missing: also where a picture that the agent saw was not kept; its message has no image then.
    """
    if not trajectory.prompt:
        return NO_PROMPT
    talk = conversation(trajectory)
    if talk is None:
        return NO_TURNS
    return NO_PICTURES if talk.missing and not allow_missing else talk


def facts_of(trajectory: Trajectory, talk: Conversation) -> Mapping[str, Any]:
    """Return the values of ``FACT_COLUMNS``."""
    row = episode_row(trajectory)
    facts = {name: row[name] for name in _FACTS}
    return {"schema": VERSION, **facts, "turns": talk.turns, "refused": talk.refused, "missing": talk.missing}
