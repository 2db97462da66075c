"""How a preset, an environment file and overrides become one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything.specs.document import kind_of, plain_copy
from gym_anything.specs.preset import preset_data
from gym_anything.specs.problem import Problem, spec_invalid

RESOLVED_MARK = "base_resolved"
"""Key that ``EnvSpec.to_dict`` adds: the preset is merged in, do not merge it again."""
MERGED_BY_TYPE = ("observation", "action")
MERGED_ONE_LEVEL = ("resources", "security", "recording", "apptainer")
FIXED = ("id", "version")


def resolved_env_data(data: object, overrides: Mapping[str, Any] | None = None, *, origin: str) -> dict[str, Any]:
    """Return the environment's data with its preset merged under it and the overrides applied.

    Args:
        data: what the file holds, or what ``EnvSpec.to_dict`` returned.
        overrides: see ``with_overrides``; an override of ``base`` chooses the other preset.
        origin: words for the error.
    Raises: SpecInvalid; SpecNotFound for an unknown preset.
    """
    try:
        own = _object(data, "")
        chosen = _object(overrides, "overrides") if overrides else {}
        if "base" in chosen:
            own.pop(RESOLVED_MARK, None)
            own["base"] = chosen.pop("base")
        resolved = own.pop(RESOLVED_MARK, False) is True
        base = own.get("base")
        if base is not None and not isinstance(base, str):
            raise Problem("base", f"is {kind_of(base)}", "write the name of a preset")
        if base and not resolved:
            own = merged(preset_data(base, origin=origin), own)
        return with_overrides(own, chosen)
    except Problem as problem:
        raise spec_invalid(origin, [problem]) from None


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a preset under a file: objects merge at every depth, ``observation`` and ``action`` by ``type``.

    Every other list and every scalar of ``over`` replaces the one below; a null in ``over`` takes the preset's value
    away, so that the field's default applies.
    """
    result = _deep(under, over)
    for key in MERGED_BY_TYPE:
        below, above = under.get(key), over.get(key)
        if isinstance(below, list) and isinstance(above, list):
            result[key] = _by_type(below, above)
    return result


def with_overrides(data: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a caller's overrides: shallow, but four groups merge one level; ``id`` and ``version`` are fixed.

    Raises: Problem for an override that changes ``id`` or ``version``.
    """
    result = dict(data)
    for key, value in overrides.items():
        if key in FIXED:
            if value != data.get(key):
                raise Problem(key, "cannot be overridden", "copy the environment and give the copy its own")
        elif key in MERGED_ONE_LEVEL and isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = {**result[key], **value}
        else:
            result[key] = value
    return result


def mark_resolved(data: dict[str, Any]) -> dict[str, Any]:
    """Say in the plain form of a spec that its preset is merged in (only where it names one)."""
    return {**data, RESOLVED_MARK: True} if data.get("base") else data


def _object(data: object, path: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise Problem(path, f"must be an object of keys and values, not {kind_of(data)}", "write `key: value` pairs")
    copied: dict[str, Any] = plain_copy(dict(data), path=path)
    return copied


def _deep(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _deep(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _by_type(below: list[Any], above: list[Any]) -> list[Any]:
    """Keep the preset's order; an item of the same type is merged in place, a new type is appended."""
    result: list[Any] = []
    rest = list(above)
    for item in below:
        kind = item.get("type") if isinstance(item, dict) else None
        same = [x for x in rest if isinstance(x, dict) and x.get("type") == kind]
        result += [_deep(item, x) for x in same] if same else [item]
        rest = [x for x in rest if not any(x is y for y in same)]
    return result + rest
