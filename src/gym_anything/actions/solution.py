"""Solution files: JSON lists of steps; a step is one action of the contract, or a list of them for one ``env.step``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gym_anything.actions.parse import parse_actions
from gym_anything.errors import ActionError, BenchmarkError

SOLUTION = "oracle.json"
"""The solution that lies beside a task."""
NEAR_MISSES = "near_miss_*.json"
"""Almost a solution: what must not pass."""


def read_solution(file: Path, *, screen: tuple[int, int] | None = None) -> list[list[dict[str, Any]]]:
    """Return the steps of a solution file, each a list of action dicts.

    Args: screen: (width, height) in guest pixels that points are checked against; None: they are checked when played.
    Raises: BenchmarkError that names the file and the step.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise BenchmarkError(f"there is no solution file {file}", detail={"file": str(file)}) from None
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"{file} cannot be read as JSON: {error}", detail={"file": str(file)}) from error
    if not isinstance(document, list):
        raise BenchmarkError(f"{file} must hold a list of steps, found {type(document).__name__}")
    steps = [step if isinstance(step, list) else [step] for step in document]
    for index, actions in enumerate(steps):
        try:
            parse_actions(actions, screen=screen)
        except ActionError as error:
            raise BenchmarkError(f"{file}, step {index}: {error}", detail={"file": str(file), "step": index}) from error
    return steps
