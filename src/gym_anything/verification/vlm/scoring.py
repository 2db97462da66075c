"""From a model's words about each item to a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_anything.verification.vlm.checklist import Checklist, Item

PASS, PARTIAL, FAIL = "pass", "partial", "fail"
_WORDS = {
    **dict.fromkeys(("pass", "passed", "yes", "true", "met", "full", "complete", "completed", "success"), PASS),
    **dict.fromkeys(("partial", "partially", "partly", "half"), PARTIAL),
    **dict.fromkeys(("fail", "failed", "no", "false", "not met", "missing", "none", "unknown", "unclear"), FAIL),
}
_SHARE = {PASS: 1.0, PARTIAL: 0.5, FAIL: 0.0}
_LONGEST_EVIDENCE = 500


class MalformedAnswer(ValueError):
    """The model did not judge every item with a word that means something."""


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """What the model said about one item."""

    item: Item
    verdict: str
    evidence: str

    def as_dict(self, *, with_points: bool) -> dict[str, Any]:
        """Return the JSON form."""
        plain: dict[str, Any] = {"id": self.item.id, "verdict": self.verdict, "evidence": self.evidence}
        if with_points:
            plain["points"] = self.item.points
            plain["earned"] = round(self.item.points * _SHARE[self.verdict], 4)
        return plain


@dataclass(frozen=True, slots=True)
class Score:
    """The outcome of a checklist.

    Attributes:
        completion_score: earned share of all points, 0..100.
        integrity_rate: share of integrity items that passed; 1 without any.
        score: ``completion_score``, or 0 when the integrity rate is under its threshold.
    """

    completion: tuple[ItemVerdict, ...]
    integrity: tuple[ItemVerdict, ...]
    completion_score: float
    integrity_rate: float
    score: float
    passed: bool


def read_answer(answer: Any, checklist: Checklist) -> tuple[tuple[ItemVerdict, ...], tuple[ItemVerdict, ...], str]:
    """Check the model's answer: a verdict for each item, and what it says of the whole.

    Raises: MalformedAnswer that says what is missing, fit to be told to the model.
    """
    if not isinstance(answer, Mapping):
        raise MalformedAnswer("the answer must be one JSON object")
    completion = _verdicts(answer, "task_completion", checklist.completion, (PASS, PARTIAL, FAIL))
    integrity = _verdicts(answer, "integrity", checklist.integrity, (PASS, FAIL))
    said = answer.get("overall_reasoning")
    return completion, integrity, said.strip()[:2000] if isinstance(said, str) else ""


def score_items(
    completion: tuple[ItemVerdict, ...],
    integrity: tuple[ItemVerdict, ...],
    *,
    completion_threshold: float,
    integrity_threshold: float,
) -> Score:
    """Add up: pass is full, partial half of the points; too few honest integrity items leave nothing.

    Args:
        completion_threshold: 0..100; reached means passed.
        integrity_threshold: 0..1.
    """
    possible = sum(v.item.points for v in completion)
    earned = sum(v.item.points * _SHARE[v.verdict] for v in completion)
    completion_score = round(100.0 * earned / possible, 4)
    rate = sum(v.verdict == PASS for v in integrity) / len(integrity) if integrity else 1.0
    honest = rate >= integrity_threshold
    score = completion_score if honest else 0.0
    return Score(completion, integrity, completion_score, rate, score, honest and score >= completion_threshold)


def _verdicts(
    answer: Mapping[str, Any], key: str, items: Sequence[Item], allowed: Sequence[str]
) -> tuple[ItemVerdict, ...]:
    by_id = _by_id(answer.get(key))
    found = []
    for item in items:
        said = by_id.get(item.id)
        if said is None:
            raise MalformedAnswer(f"{key} has no verdict for {item.id!r}")
        word = said.get("verdict")
        verdict = _WORDS.get(str(word).strip().lower())
        if verdict is None or verdict not in allowed:
            raise MalformedAnswer(f"{key}: the verdict of {item.id!r} is {word!r:.40}, not one of {', '.join(allowed)}")
        evidence = said.get("evidence")
        found.append(ItemVerdict(item, verdict, str(evidence or "")[:_LONGEST_EVIDENCE]))
    return tuple(found)


def _by_id(listed: Any) -> dict[str, Mapping[str, Any]]:
    """Return the verdicts by item; models also answer with an object by id, and with bare words in it."""
    if isinstance(listed, Mapping):
        return {str(k): v if isinstance(v, Mapping) else {"verdict": v} for k, v in listed.items()}
    if not isinstance(listed, list):
        return {}
    return {str(v.get("id", "")).strip(): v for v in listed if isinstance(v, Mapping)}
