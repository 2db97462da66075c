"""``vlm_checklist.json``: what a vision model looks for, read tolerantly and checked strictly.

The form: ``{"task_completion": [{"id", "description", "points", "visual_evidence"}], "integrity": [{"id",
"description", "visual_evidence"}], "privileged_info_for_vlm": text, "pass_threshold"?: 0..100}``. Real files also say
``checklist`` for the first list, ``integrity_checks``, ``item`` for ``id``, ``evidence``, ``privileged_info``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.errors import SpecInvalid

_COMPLETION = ("task_completion", "checklist", "completion", "items")
_INTEGRITY = ("integrity", "integrity_checks")
_ID = ("id", "item", "name")
_DESCRIPTION = ("description", "criterion", "text", "item", "id", "name")
_EVIDENCE = ("visual_evidence", "evidence")
_PRIVILEGED = ("privileged_info_for_vlm", "privileged_info")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to look for.

    Attributes:
        points: what it is worth; 0 for integrity items.
        evidence: what it looks like on the screen; may be empty.
    """

    id: str
    description: str
    points: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Checklist:
    """All of it.

    Attributes:
        privileged: what the judge may know and the agent does not; never written to an artifact.
        pass_threshold: score from 0 to 100 that the file itself asks for.
    """

    completion: tuple[Item, ...]
    integrity: tuple[Item, ...]
    privileged: str
    pass_threshold: float | None


def read_checklist(data: Any, *, file: Path | str) -> Checklist:
    """Check what a checklist file holds.

    Raises: SpecInvalid (``detail``: file, key) for what cannot be judged by.
    """
    if not isinstance(data, Mapping):
        raise _wrong(file, "", f"a checklist is an object, this is {data!r:.60}")
    completion = _items(data, _COMPLETION, file, with_points=True)
    if not completion:
        raise _wrong(file, _COMPLETION[0], "there is nothing to look for: the list is missing or empty")
    if sum(item.points for item in completion) <= 0:
        raise _wrong(file, _COMPLETION[0], "the points sum to 0")
    integrity = _items(data, _INTEGRITY, file, with_points=False)
    said = _first(data, _PRIVILEGED)
    privileged = said if isinstance(said, str) else "" if said is None else json.dumps(said, ensure_ascii=False)
    threshold = data.get("pass_threshold")
    if threshold is not None and not (_is_number(threshold) and 0 <= threshold <= 100):
        raise _wrong(file, "pass_threshold", f"must be a number from 0 to 100, it is {threshold!r:.60}")
    return Checklist(completion, integrity, privileged, None if threshold is None else float(threshold))


def _items(data: Mapping[str, Any], names: Sequence[str], file: Path | str, *, with_points: bool) -> tuple[Item, ...]:
    key = next((name for name in names if name in data), names[0])
    raw = data.get(key)
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise _wrong(file, key, f"must be a list, it is {raw!r:.60}")
    share = 100.0 / len(raw) if raw else 0.0
    items: list[Item] = []
    for index, entry in enumerate(raw):
        place = f"{key}[{index}]"
        if not isinstance(entry, Mapping):
            raise _wrong(file, place, f"must be an object, it is {entry!r:.60}")
        name = str(_first(entry, _ID) or f"{key}_{index + 1}").strip()
        if any(item.id == name for item in items):
            raise _wrong(file, place, f"two items are called {name!r}")
        description = str(_first(entry, _DESCRIPTION) or "").strip()
        points = _points(entry.get("points"), share, file, f"{place}.points") if with_points else 0.0
        items.append(Item(name, description, points, str(_first(entry, _EVIDENCE) or "").strip()))
    return tuple(items)


def _points(value: Any, share: float, file: Path | str, place: str) -> float:
    if value is None:
        return share
    try:
        points = float(value) if _is_number(value) or isinstance(value, str) else math.nan
    except ValueError:
        points = math.nan
    if not (math.isfinite(points) and points >= 0):
        raise _wrong(file, place, f"must be a number of 0 or more, it is {value!r:.60}")
    return points


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _first(data: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((data[name] for name in names if data.get(name) not in (None, "")), None)


def _wrong(file: Path | str, key: str, what: str) -> SpecInvalid:
    place = f"{file}, {key}" if key else str(file)
    return SpecInvalid(f"{place}: {what}", detail={"file": str(file), "key": key})
