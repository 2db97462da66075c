"""JSON out of what a model said, by rule: the whole text, a fenced block, or the first object or list that parses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(r"```(?:[A-Za-z0-9_-]*)\s*\n?(.*?)```", re.DOTALL)
_MOST_STARTS = 200
"""Places tried; a long text full of braces must not take for ever."""


def find_json(text: str) -> Any:
    """Return the first JSON object or list in a text. Raises: ValueError when there is none."""
    for candidate in _candidates(text):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return value
    decoder = json.JSONDecoder()
    starts = [i for i, ch in enumerate(text) if ch in "{["][:_MOST_STARTS]
    for start in starts:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or (isinstance(value, list) and value):
            return value
    raise ValueError("there is no JSON object in the answer")


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    for block in _FENCE.findall(text):
        yield block.strip()
