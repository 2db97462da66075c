"""What a verifier returned, as plain JSON, or a clear refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 50
_MAX_FEEDBACK = 20_000  # characters: it is read by people, and kept in every result


class InvalidReturn(Exception):
    """The verifier returned something that is no verdict."""


def plain_verdict(value: Any) -> dict[str, Any]:
    """Return ``{passed: bool, score: float | None, feedback: str, extra: {…}}``.

    ``passed`` may be anything whose truth is in no doubt: a bool (NumPy's too), a finite number, or an empty or None
    left over from an ``and`` chain; a non-empty string such as ``"false"`` is refused rather than taken for true.

    Raises: InvalidReturn that names the key.
    """
    if not isinstance(value, Mapping):
        raise InvalidReturn(f"a verifier returns a dict with 'passed' and 'score', this one returned {_short(value)}")
    if "passed" not in value:
        raise InvalidReturn(f"the verifier's result has no 'passed'; it has {sorted(map(str, value))}")
    extra = {str(k): to_json(v) for k, v in value.items() if k not in ("passed", "score", "feedback")}
    return {
        "passed": _truth(value["passed"]),
        "score": _score(value.get("score")),
        "feedback": _clipped(_text(value.get("feedback"))),
        "extra": extra,
    }


def plain_number(value: Any) -> float:
    """Return what a reward function returned. Raises: InvalidReturn unless it is a finite number."""
    value = _unwrapped(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidReturn(f"a reward function returns a finite number, this one returned {_short(value)}")
    return float(value)


def _truth(value: Any) -> bool:
    value = _unwrapped(value)
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int | float):
        if math.isfinite(value):
            return bool(value)
    elif isinstance(value, str | bytes | list | tuple | dict | set) and not value:
        return False
    raise InvalidReturn(f"'passed' must be true or false, this one is {_short(value)}")


def _score(value: Any) -> float | None:
    value = _unwrapped(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidReturn(f"'score' must be a finite number from 0 to 100, this one is {_short(value)}")
    return min(100.0, max(0.0, float(value)))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return str(value)


def _clipped(text: str) -> str:
    left_out = len(text) - _MAX_FEEDBACK
    return text if left_out <= 0 else f"{text[:_MAX_FEEDBACK]}\n… ({left_out} more characters left out)"


def to_json(value: Any, depth: int = 0) -> Any:
    """Return ``value`` as JSON data: NumPy scalars and paths unwrapped, NaN as null, the rest as text."""
    value = _unwrapped(value)
    if depth > _MAX_DEPTH:
        return "…"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(k): to_json(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(v, depth + 1) for v in value]
    return str(value)


def _unwrapped(value: Any) -> Any:
    """Return the plain Python value of a NumPy scalar."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - boundary: anybody's __repr__
        text = "…"
    return f"{type(value).__name__} {text[:200]}"
