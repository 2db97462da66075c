"""The doctor's rows that worlds in containers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything.errors import GymAnythingError, NativeProgramMissing
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.runners.compatibility import RunnerCompatibility

_NATIVE = ("ga-guest", "ga-desktop")
IMAGE_STEP = {
    "title": "our desktop image",
    "command": "apt-get install mmdebstrap && gym-anything image build debian-desktop",
}
"""How to get the image of specs that name none."""


def good(detail: str) -> dict[str, Any]:
    """Return the row of what is fine."""
    return {"ok": True, "detail": detail, "fix": ""}


def bad(error: GymAnythingError) -> dict[str, Any]:
    """Return the row of what is missing."""
    return {"ok": False, "detail": str(error), "fix": str(error.detail.get("fix", ""))}


def status_of(own: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the doctor's answer: the runner's own rows, and those of our programs that run inside."""
    rows = dict(own)
    for name in _NATIVE:
        try:
            rows[name] = good(str(native_program(name)))
        except NativeProgramMissing as error:
            rows[name] = bad(error)
    lacking = [f"{name}: {row['detail']}" for name, row in rows.items() if not row["ok"]]
    return {"available": not lacking, "reason": "; ".join(lacking) or None, "deps": rows}


def compatibility_of(name: str, note: str) -> RunnerCompatibility:
    """Return the row of ``gym-anything compatibility``."""
    return RunnerCompatibility(
        runner=name,
        platforms=("linux",),
        fast_io=True,
        checkpoint_caching=True,
        savevm=False,
        live_recording=True,
        time_control=False,
        acks_input_delivery=True,
        notes=(note, "software: what the image has"),
    )
