"""Mode ``multi``: several judges, one verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gym_anything.errors import SpecInvalid
from gym_anything.verification.contract import Verdict

_LIST_KEYS = ("verifiers", "checks", "criteria")
_COMBINATIONS = ("all", "any", "weighted")


@dataclass(frozen=True, slots=True)
class Part:
    """One judge of several."""

    name: str
    success: Mapping[str, Any]
    weight: float


def judge_by_several(spec: Mapping[str, Any], judge_one: Callable[[Mapping[str, Any]], Verdict]) -> Verdict:
    """Combine the parts' verdicts.

    ``spec``: ``{"verifiers": [{"name"?, "mode", "spec", "weight"?}], "combine": "all"|"any"|"weighted",
    "pass_score"?: 0..100}``. The score is the weighted mean of the parts' (their maximum for ``any``); passed when all,
    any, or the mean reaches ``pass_score`` (100).

    Raises: what a part raises, since a broken part breaks the whole; with ``any`` only when no other part passes.
        SpecInvalid for a malformed spec.
    """
    parts, combine, pass_score = _parts(spec), _combination(spec), _pass_score(spec)
    verdicts: list[tuple[Part, Verdict]] = []
    first_error: Exception | None = None
    for part in parts:
        try:
            verdicts.append((part, judge_one(part.success)))
        except Exception as error:  # held back, and raised below unless another part is enough
            if combine != "any":
                raise
            first_error = first_error or error
    scores = [v.score for _, v in verdicts]
    if combine == "any":
        passed = any(v.passed for _, v in verdicts)
        if not passed and first_error is not None:
            raise first_error
        score = max(scores, default=0.0)
    else:
        total = sum(p.weight for p in parts)
        score = sum(p.weight * v.score for p, v in verdicts) / total
        passed = all(v.passed for _, v in verdicts) if combine == "all" else score >= pass_score
    feedback = "\n".join(
        f"{p.name}: {'passed' if v.passed else 'not passed'}. {v.feedback}".strip() for p, v in verdicts
    )
    subscores = {p.name: v.score for p, v in verdicts}
    return Verdict(passed, score, feedback, {"subscores": subscores, "parts": [v.report() for _, v in verdicts]})


def _error(message: str, key: str) -> SpecInvalid:
    return SpecInvalid(f"multi: {message}", detail={"key": f"success.spec.{key}"})


def _parts(spec: Mapping[str, Any]) -> list[Part]:
    key = next((k for k in _LIST_KEYS if k in spec), _LIST_KEYS[0])
    items = spec.get(key)
    if not isinstance(items, list) or not items:
        raise _error(f"success.spec.{key} must be a list of judges, it is {items!r:.100}", key)
    parts: list[Part] = []
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise _error(f"judge {index} must be an object, it is {item!r:.100}", key)
        weight = item.get("weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
            raise _error(f"the weight of judge {index} must be a positive number, it is {weight!r}", key)
        name = str(item.get("name") or f"{item.get('mode') or 'program'}_{index + 1}")
        if name in {p.name for p in parts}:
            raise _error(f"two judges are called {name!r}", key)
        parts.append(Part(name, {"mode": item.get("mode"), "spec": item.get("spec") or {}}, float(weight)))
    return parts


def _combination(spec: Mapping[str, Any]) -> str:
    word = spec.get("combine", "all")
    if word not in _COMBINATIONS:
        raise _error(f"combine must be one of {', '.join(_COMBINATIONS)}, it is {word!r}", "combine")
    return str(word)


def _pass_score(spec: Mapping[str, Any]) -> float:
    value = spec.get("pass_score", 100.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise _error(f"pass_score must be a number from 0 to 100, it is {value!r}", "pass_score")
    return float(value)
