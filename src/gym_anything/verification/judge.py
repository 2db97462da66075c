"""From a request to a verdict: choose the mode, ask that judge."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.settings import UNSET, given, resolve
from gym_anything.errors import SpecInvalid, UnsupportedFeature
from gym_anything.verification.contract import Capabilities, JudgeRequest, Verdict
from gym_anything.verification.image_match import judge_by_image
from gym_anything.verification.multi import judge_by_several
from gym_anything.verification.program import judge_by_program

MODES = ("program", "image_match", "multi", "vlm_checklist")
VERIFIER_MODE = env_vars.declare(
    "GYM_ANYTHING_VERIFIER_MODE",
    env_vars.text,
    None,
    "Judge every task by this mode instead of its own success.mode.",
    "verification",
)
_MODE_SOURCES = {"argument": "override", "environment": "environment", "file": "task", "default": "default"}
_MAX_NESTING = 5


def judge(request: JudgeRequest, capabilities: Capabilities) -> Verdict:
    """Judge the present state of a world.

    A task without success criteria gives an undecided verdict (``decided=False``); everything else decides or raises.

    Blocks: until ``request.deadline`` at the latest (and a second for taking a hung verifier down).
    Raises: VerifierError kinds (blame judge), SpecInvalid (blame content), UnsupportedFeature for a mode this version
        does not have, WorldLost, Aborted.
    """
    began = time.monotonic()
    if request.success is None and request.mode_override is None:
        return Verdict(
            False, 0.0, "the task has no success criteria", decided=False, mode="none", mode_source="default"
        )
    success = request.success or {}
    chosen = resolve(
        "success.mode",
        argument=given(request.mode_override),
        environment=VERIFIER_MODE.lookup(),
        file=success.get("mode") or UNSET,
        default="program",
    )
    mode = str(chosen.value)
    if mode not in MODES and chosen.source in ("argument", "environment"):
        error = _unknown_mode(mode)
        error.blame = "caller"
        raise error
    verdict = _by_mode(mode, success.get("spec") or {}, request, capabilities, depth=0)
    source = _MODE_SOURCES[chosen.source]
    return replace(verdict, mode=mode, mode_source=source, seconds=time.monotonic() - began)


def _by_mode(
    mode: str, spec: Mapping[str, Any], request: JudgeRequest, capabilities: Capabilities, *, depth: int
) -> Verdict:
    if not isinstance(spec, Mapping):
        raise SpecInvalid(f"success.spec must be an object, it is {spec!r:.100}", detail={"key": "success.spec"})
    if mode == "program":
        return judge_by_program(request, spec, capabilities)
    if mode == "image_match":
        return judge_by_image(request, spec)
    if mode == "multi":
        if depth >= _MAX_NESTING:
            raise SpecInvalid("success.spec: multi inside multi is nested too deep", detail={"key": "success.spec"})

        def judge_part(part: Mapping[str, Any]) -> Verdict:
            part_mode = str(part.get("mode") or "program")
            verdict = _by_mode(part_mode, part["spec"], request, capabilities, depth=depth + 1)
            return replace(verdict, mode=part_mode)

        return judge_by_several(spec, judge_part)
    if mode == "vlm_checklist":
        raise UnsupportedFeature(
            "success.mode 'vlm_checklist' needs a vision model, which this version cannot ask yet",
            detail={
                "feature": "success.mode",
                "reason": "vlm_checklist",
                "fix": "use mode program, image_match or multi",
            },
        )
    raise _unknown_mode(mode)


def _unknown_mode(mode: str) -> SpecInvalid:
    known = ", ".join(MODES)
    return SpecInvalid(
        f"unknown success.mode {mode!r}; known: {known}", detail={"key": "success.mode", "fix": f"use one of {known}"}
    )
