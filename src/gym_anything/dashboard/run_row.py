"""Runs as the page's list takes them: by column, words said once, texts short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gym_anything.benchmark.result_row import ResultRow

COLUMNS = (
    "exp", "model", "env", "task", "run", "status", "score", "steps", "duration_s", "finished_at", "reason", "blame",
    "runner", "agent", "seed", "difficulty", "tags", "cost_usd", "tokens", "story",
)  # fmt: skip
NUMBERS = frozenset({"score", "steps", "duration_s", "seed", "cost_usd", "tokens"})
UNFINISHED = "unfinished"
_STORY_CHARACTERS = 160
_WORD_CHARACTERS = 200

Cells = tuple[Any, ...]


def finished_cells(exp: str, row: ResultRow) -> Cells:
    """Return the cells of a finished run, in the order of ``COLUMNS``."""
    spent = [n for n in (row.input_tokens, row.output_tokens) if n is not None]
    facts = {
        "status": row.status,
        "score": None if row.status == "broken" else row.score,
        "steps": row.steps,
        "duration_s": row.duration_s,
        "finished_at": row.finished_at,
        "reason": row.reason,
        "blame": row.blame,
        "runner": row.runner,
        "agent": row.agent,
        "seed": row.seed,
        "difficulty": row.difficulty,
        "tags": " ".join(row.tags),
        "cost_usd": row.cost_usd,
        "tokens": sum(spent) if spent else None,
        "story": row.story,
    }
    return _cells(exp, row.run, facts)


def unfinished_cells(exp: str, run: str) -> Cells:
    """Return the cells of a run without a result: it is still played, or was cut off."""
    return _cells(exp, run, {"status": UNFINISHED, "story": "still played, or cut off"})


def encoded(rows: Sequence[Cells]) -> dict[str, Any]:
    """Return ``{"count", "columns": {name: [numbers] | {"words": [...], "index": [...]}}}``; None is unknown."""
    columns: dict[str, Any] = {}
    for position, name in enumerate(COLUMNS):
        values = [row[position] for row in rows]
        if name in NUMBERS:
            columns[name] = values
        else:
            numbers: dict[str | None, int] = {}
            index = [numbers.setdefault(value, len(numbers)) for value in values]
            columns[name] = {"words": list(numbers), "index": index}
    return {"count": len(rows), "columns": columns}


def _cells(exp: str, run: str, facts: dict[str, Any]) -> Cells:
    place = (exp, *run.split("/"))
    rest = (_number(facts.get(name)) if name in NUMBERS else _text(facts.get(name), name) for name in COLUMNS[5:])
    return (*place, *rest)


def _number(value: Any) -> float | int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def _text(value: Any, name: str) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    limit = _STORY_CHARACTERS if name == "story" else _WORD_CHARACTERS
    text = " ".join(value.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
