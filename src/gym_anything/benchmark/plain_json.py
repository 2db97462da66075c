"""Any value as JSON that every reader takes: what agents and verifiers return must not spoil a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DEEPEST = 30
LONGEST_TEXT = 100_000


def plain_json(value: Any, *, _depth: int = 0) -> Any:
    """Return ``value`` made of dicts with text keys, lists, text, finite numbers, bools and None.

    NaN and infinities become text, lone surrogates are escaped, everything else becomes its ``str``; what is too deep
    (or holds itself) or too long is cut off.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    if _depth >= DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {_text(str(key)): plain_json(item, _depth=_depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_json(item, _depth=_depth + 1) for item in value]
    try:
        return _text(str(value))
    except Exception as error:  # noqa: BLE001 - the boundary to a foreign __str__
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _text(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        text = text[:LONGEST_TEXT] + "…"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
