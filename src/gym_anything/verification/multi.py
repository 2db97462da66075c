"""Mode ``multi``: several judges, one verdict; the composition of a reward as data in the task.

``success.spec``: ``{"verifiers": [{"name"?, "mode", "spec", "weight"?, "gate"?}], "combine": "all" | "any" |
"weighted" | "sequence", "pass_score"?: 0..100}``.

* **weighted**: the score is the weighted mean of the parts'; passed when it reaches ``pass_score`` (100).
* **all** (default): the same score; passed when every part is.
* **any**: the best part's score; passed when one is.
* **sequence**: milestones in their order. The score is the weighted mean in which nothing counts that comes after the
  first part that is not passed; those parts are not even asked. Passed when every part is, or when the score reaches
  ``pass_score`` if that is given.
* **gate**: a part with ``"gate": true`` is a condition in any of these: it is asked first, and when it is not passed
  the score is 0, nothing is passed and nobody else is asked. It carries no weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gym_anything.errors import SpecInvalid
from gym_anything.verification.contract import Verdict

_LIST_KEYS = ("verifiers", "checks", "criteria")
_COMBINATIONS = ("all", "any", "weighted", "sequence")

JudgeOne = Callable[[Mapping[str, Any]], Verdict]


@dataclass(frozen=True, slots=True)
class Part:
    """One judge of several."""

    name: str
    success: Mapping[str, Any]
    weight: float
    gate: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """A part and what it said; None when it was not asked."""

    part: Part
    verdict: Verdict | None

    @property
    def score(self) -> float:
        """Its score; 0 when it was not asked."""
        return self.verdict.score if self.verdict is not None else 0.0

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.verdict is not None and self.verdict.passed

    def line(self) -> str:
        """Say it in one line."""
        if self.verdict is None:
            return f"{self.part.name}: not asked."
        word = "passed" if self.verdict.passed else "not passed"
        return f"{self.part.name}: {word}. {self.verdict.feedback}".strip()


def judge_by_several(spec: Mapping[str, Any], judge_one: JudgeOne) -> Verdict:
    """Combine the parts' verdicts as the task says.

    Raises: what a part raises, since a broken part breaks the whole; with ``any`` only when no other part passes.
        SpecInvalid for a malformed spec.
    """
    parts, combine, pass_score = read_parts(spec), _combination(spec), _pass_score(spec)
    gates = _in_order([part for part in parts if part.gate], judge_one)
    rest = [part for part in parts if not part.gate]
    if not all(gate.passed for gate in gates):
        return _verdict(False, 0.0, [*gates, *(Judged(part, None) for part in rest)])
    if combine == "any":
        judged, passed, score = _any(rest, judge_one)
    else:
        judged = (
            _in_order(rest, judge_one) if combine == "sequence" else [Judged(p, judge_one(p.success)) for p in rest]
        )
        score = _mean(judged)
        passed = all(j.passed for j in judged)
        if combine == "weighted" or (combine == "sequence" and "pass_score" in spec):
            passed = score >= pass_score
    return _verdict(passed, score, [*gates, *judged])


def _mean(judged: list[Judged]) -> float:
    """Return the weighted mean of the scores, 0..100.

    Computed with the decimal numbers that the task's author wrote: as binary fractions, weights of 0.1 and 0.2 make
    99.99999999999999 of two full scores, and a solved task fails.
    """
    weights = [_as_written(j.part.weight) for j in judged]
    total = sum(weight * _as_written(j.score) for weight, j in zip(weights, judged, strict=True))
    return min(100.0, max(0.0, float(total / sum(weights))))


def _as_written(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def read_parts(spec: Mapping[str, Any]) -> list[Part]:
    """Return the judges that a task names, once all it says of them is understood. Raises: SpecInvalid."""
    _combination(spec)
    _pass_score(spec)
    return _parts(spec)


def _in_order(parts: list[Part], judge_one: JudgeOne) -> list[Judged]:
    """Ask one after the other until one does not pass."""
    judged: list[Judged] = []
    for part in parts:
        going_on = all(j.passed for j in judged)
        judged.append(Judged(part, judge_one(part.success) if going_on else None))
    return judged


def _any(parts: list[Part], judge_one: JudgeOne) -> tuple[list[Judged], bool, float]:
    judged: list[Judged] = []
    first_error: Exception | None = None
    for part in parts:
        try:
            judged.append(Judged(part, judge_one(part.success)))
        except Exception as error:  # noqa: BLE001 - held back, and raised below unless another part is enough
            first_error = first_error or error
    passed = any(j.passed for j in judged)
    if not passed and first_error is not None:
        raise first_error
    return judged, passed, max((j.score for j in judged), default=0.0)


def _verdict(passed: bool, score: float, judged: list[Judged]) -> Verdict:
    asked = [j for j in judged if j.verdict is not None]
    extra = {
        "subscores": {j.part.name: j.score for j in asked},
        "parts": [{"name": j.part.name, **j.verdict.report()} for j in asked if j.verdict is not None],
    }
    not_asked = [j.part.name for j in judged if j.verdict is None]
    if not_asked:
        extra["not_asked"] = not_asked
    return Verdict(passed, score, "\n".join(j.line() for j in judged), extra)


def _error(message: str, key: str) -> SpecInvalid:
    return SpecInvalid(f"multi: {message}", detail={"key": f"success.spec.{key}"})


def _parts(spec: Mapping[str, Any]) -> list[Part]:
    key = next((k for k in _LIST_KEYS if k in spec), _LIST_KEYS[0])
    items = spec.get(key)
    if not isinstance(items, list) or not items:
        raise _error(f"success.spec.{key} must be a list of judges, it is {items!r:.100}", key)
    parts: list[Part] = []
    for index, item in enumerate(items):
        part = _part(index, item, key)
        if any(part.name == other.name for other in parts):
            raise _error(f"two judges are called {part.name!r}", key)
        parts.append(part)
    if all(part.gate for part in parts):
        raise _error("every judge is a gate, so nothing gives a score", key)
    return parts


def _part(index: int, item: Any, key: str) -> Part:
    if not isinstance(item, Mapping):
        raise _error(f"judge {index} must be an object, it is {item!r:.100}", key)
    gate = item.get("gate", False)
    if not isinstance(gate, bool):
        raise _error(f"the gate of judge {index} must be true or false, it is {gate!r:.60}", key)
    if gate and "weight" in item:
        raise _error(f"judge {index} is a gate; a gate carries no weight", key)
    weight = item.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        raise _error(f"the weight of judge {index} must be a positive number, it is {weight!r}", key)
    name = str(item.get("name") or f"{item.get('mode') or 'program'}_{index + 1}")
    return Part(name, {"mode": item.get("mode"), "spec": item.get("spec") or {}}, float(weight), gate)


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
