"""Presets: named specs that lie under an environment's own file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from gym_anything.errors import SpecNotFound
from gym_anything.specs.near_miss import suggestion

PRESET_FOLDER = Path(__file__).parent / "presets"


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names that ``base`` may have."""
    return tuple(sorted(path.stem for path in PRESET_FOLDER.glob("*.json")))


def preset_data(name: str, *, origin: str = "the environment spec") -> dict[str, Any]:
    """Return a fresh copy of a preset's keys.

    A preset has no ``id`` and no ``version``: those belong to the environment. Its ``about`` (for people) is left out.

    Raises: SpecNotFound that lists the presets there are.
    """
    if name not in preset_names():
        fix = suggestion(name, preset_names(), "there are")
        error = SpecNotFound(
            f"{origin}: base names the preset {name!r}, which does not exist; {fix}",
            detail={"file": origin, "key": "base", "fix": fix},
        )
        error.blame = "content"  # the file names it, not the caller
        raise error
    data: dict[str, Any] = json.loads((PRESET_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    data.pop("about", None)
    return data


def preset_about(name: str) -> str:
    """Return what a preset is, in one sentence for people."""
    preset_data(name)
    data: dict[str, Any] = json.loads((PRESET_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return str(data.get("about", ""))
