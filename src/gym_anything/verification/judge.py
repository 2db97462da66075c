"""From a request to a verdict: choose the mode, ask that judge."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.settings import UNSET, given, resolve
from gym_anything.errors import SpecInvalid
from gym_anything.verification.contract import Capabilities, JudgeRequest, Verdict
from gym_anything.verification.image_match import judge_by_image
from gym_anything.verification.multi import judge_by_several
from gym_anything.verification.program import judge_by_program
from gym_anything.verification.vlm.judge import judge_by_checklist

MODES = ("program", "image_match", "multi", "vlm_checklist")


def _mode_name(value: str) -> str:
    """Return a mode's name; other spellings of it are in use."""
    return value.strip().lower().replace("-", "_")


VERIFIER_MODE = env_vars.declare(
    "GYM_ANYTHING_VERIFIER_MODE",
    _mode_name,
    None,
    "Judge every task by this mode instead of its own success.mode; `task` is that one.",
    "verification",
)
_MODE_SOURCES = {"argument": "override", "environment": "environment", "file": "task", "default": "default"}
_THE_TASKS_OWN = ("task", "task_json", "auto", "default")
_MAX_NESTING = 5


@dataclass(frozen=True, slots=True)
class ChosenMode:
    """Who judges a task, and by what.

    Attributes:
        mode: one of ``MODES``, or whatever the task says.
        spec: ``success.spec`` as far as it is for this mode.
        source: ``mode_source`` of the verdict.
    """

    mode: str
    spec: Mapping[str, Any]
    source: str


def judge(request: JudgeRequest, capabilities: Capabilities) -> Verdict:
    """Judge the present state of a world.

    A task without success criteria gives an undecided verdict (``decided=False``); everything else decides or raises.

    Blocks: until ``request.deadline`` at the latest (and a second for taking a hung verifier down).
    Raises: VerifierError kinds (blame judge), SpecInvalid (blame content), ModelError kinds (blame host) of a judge
        that asks a vision model, WorldLost, Aborted.
    """
    began = time.monotonic()
    if request.success is None and request.mode_override is None:
        return Verdict(
            False, 0.0, "the task has no success criteria", decided=False, mode="none", mode_source="default"
        )
    chosen = choose_mode(request.success or {}, override=request.mode_override, environment=request.environment)
    verdict = _by_mode(chosen.mode, chosen.spec, request, capabilities, depth=0)
    return replace(verdict, mode=chosen.mode, mode_source=chosen.source, seconds=time.monotonic() - began)


def choose_mode(
    success: Mapping[str, Any], *, override: str | None = None, environment: Mapping[str, str] | None = None
) -> ChosenMode:
    """Return who judges, and by what: a mode of the caller's wins over the variable's, that over the task's.

    Args: environment: the verifier's own variables, over the process's.
    Raises: SpecInvalid (blame caller) for a mode from elsewhere than the task that nobody knows.
    """
    from_environment = VERIFIER_MODE.lookup({**os.environ, **(environment or {})})
    chosen = resolve(
        "success.mode",
        argument=given(override),
        environment=UNSET if from_environment in _THE_TASKS_OWN else from_environment,
        file=success.get("mode") or UNSET,
        default="program",
    )
    mode = str(chosen.value)
    if mode not in MODES and chosen.source in ("argument", "environment"):
        error = unknown_mode(mode)
        error.blame = "caller"
        raise error
    spec = success.get("spec") or {}
    if mode == "vlm_checklist" and success.get("mode") != mode and isinstance(spec, Mapping):
        spec = {key: spec[key] for key in ("vlm_checklist",) if key in spec}  # the rest is for the task's own judge
    return ChosenMode(mode, spec, _MODE_SOURCES[chosen.source])


def require_object(spec: Any) -> None:
    """Raise SpecInvalid for a ``success.spec`` that is no object."""
    if not isinstance(spec, Mapping):
        raise SpecInvalid(f"success.spec must be an object, it is {spec!r:.100}", detail={"key": "success.spec"})


def require_depth(depth: int) -> None:
    """Raise SpecInvalid for a ``multi`` that lies too deep in others."""
    if depth >= _MAX_NESTING:
        raise SpecInvalid("success.spec: multi inside multi is nested too deep", detail={"key": "success.spec"})


def mode_of_part(part: Mapping[str, Any]) -> str:
    """Return the mode of one judge of several."""
    return str(part.get("mode") or "program")


def _by_mode(
    mode: str, spec: Mapping[str, Any], request: JudgeRequest, capabilities: Capabilities, *, depth: int
) -> Verdict:
    require_object(spec)
    if mode == "program":
        return judge_by_program(request, spec, capabilities)
    if mode == "image_match":
        return judge_by_image(request, spec)
    if mode == "multi":
        require_depth(depth)

        def judge_part(part: Mapping[str, Any]) -> Verdict:
            part_mode = mode_of_part(part)
            verdict = _by_mode(part_mode, part["spec"], request, capabilities, depth=depth + 1)
            return replace(verdict, mode=part_mode)

        return judge_by_several(spec, judge_part)
    if mode == "vlm_checklist":
        return judge_by_checklist(request, spec)
    raise unknown_mode(mode)


def unknown_mode(mode: str) -> SpecInvalid:
    """Return the error of a mode that nobody knows."""
    known = ", ".join(MODES)
    return SpecInvalid(
        f"unknown success.mode {mode!r}; known: {known}", detail={"key": "success.mode", "fix": f"use one of {known}"}
    )
