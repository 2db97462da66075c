"""One step: parse everything, do it in order with the right waits, observe, see whether the episode is over."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym_anything.actions.model import (
    Action,
    InputAction,
    PassthroughAction,
    ScreenshotAction,
    SettleAction,
    WaitAction,
)
from gym_anything.actions.parse import parse_actions
from gym_anything.episode.episode import Episode
from gym_anything.episode.limits import COMPLETED
from gym_anything.episode.observing import observe
from gym_anything.episode.pacing import Pacing, let_time_pass, pause_after_input, pause_between_actions
from gym_anything.episode.session import Session
from gym_anything.episode.settling import SettleRule, joined_boxes, settle_world, told
from gym_anything.errors import ActionError, GymAnythingError, InputDeliveryUnknown, InputNotDelivered


@dataclass(frozen=True, slots=True)
class StepRequest:
    """What ``env.step`` was asked."""

    actions: Any
    gap_s: float
    mark_done: bool
    capture_observation: bool
    settle_after_actions: bool
    metadata: Mapping[str, Any] | None
    settle_ignore: Any = ()


@dataclass
class StepResult:
    """What a step did, before the episode's end is dealt with."""

    observation: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    end_reason: str | None = None


@dataclass
class _Progress:
    """How far a step has come. Attributes: results: of its actions. inputs: how many of these were done in whole."""

    results: list[dict[str, Any]] = field(default_factory=list)
    inputs: int = 0


def run_step(session: Session, episode: Episode, request: StepRequest) -> StepResult:
    """Do one step.

    Raises: ActionError before anything was done (the trajectory says ``refused``); InputNotDelivered when nothing of it
        was done: it is no step then, and may be sent again; InputDeliveryUnknown also where an input was not delivered
        after others of the step were done; whatever else the world raises for an action it refuses or cannot deliver
        (the step counts, and the trajectory says so); WorldLost, Aborted.
    """
    roles = session.roles
    try:
        pacing, raws, actions = _read(session, request)
    except ActionError as error:
        refused = _record(episode.steps + 1, _listed(request.actions), request)
        episode.folder.append("refused", {**refused, "error": error.to_wire()})
        raise
    episode.steps += 1
    began = time.perf_counter()
    progress = _Progress()
    try:
        _do_all(session, episode, pacing, raws, actions, request.gap_s, progress)
        did = time.perf_counter()
        rest = _pace(session, pacing, had_input=progress.inputs > 0, settle=request.settle_after_actions)
        paced = time.perf_counter()
        observation = observe(session, episode, is_step=True) if request.capture_observation else {}
    except GymAnythingError as error:
        if progress.inputs and isinstance(error, InputNotDelivered):
            _write_failure(episode, raws, request, _not_to_be_repeated(error, progress.inputs))
            # No name holds what is raised here: it holds this call, and with it the frames of a world that is gone.
            raise _not_to_be_repeated(error, progress.inputs) from error
        _write_failure(episode, raws, request, error)
        if isinstance(error, InputNotDelivered):  # whoever sends it again sends the same step
            episode.steps -= 1
            session.roles = roles
        raise
    seen = time.perf_counter()
    timings = {
        "actions_s": round(did - began, 6),
        "pacing_s": round(paced - did, 6),
        "observation_s": round(seen - paced, 6),
        "step_s": round(seen - began, 6),
    }
    return _done(session, episode, request, raws, progress.results, observation, timings, rest)


def _write_failure(episode: Episode, raws: list[Any], request: StepRequest, error: GymAnythingError) -> None:
    kind = "not_delivered" if isinstance(error, InputNotDelivered) else "step"
    episode.folder.append(kind, {**_record(episode.steps, raws, request), "error": error.to_wire()})


def _not_to_be_repeated(error: InputNotDelivered, inputs: int) -> InputDeliveryUnknown:
    """Return what a step raises of which a part was done: only one that did no input at all may be sent again."""
    return InputDeliveryUnknown(
        f"{inputs} of this step's inputs were done, the one after them was not: {error}; look at a new frame",
        detail={**error.detail, "inputs_done": inputs},
    )


def _done(
    session: Session,
    episode: Episode,
    request: StepRequest,
    raws: list[Any],
    results: list[dict[str, Any]],
    observation: dict[str, Any],
    timings: dict[str, float],
    rest: dict[str, object] | None,
) -> StepResult:
    """Write a step that was done into the trajectory, and say what it did."""
    info = _info(episode, results, observation, timings)
    if rest is not None:
        info["settle"] = rest
    reason = COMPLETED if request.mark_done else None
    reason = reason or session.limits.reason_to_end(steps=episode.steps, elapsed_s=episode.elapsed_s())
    own = episode.folder.path_of_frame(episode.steps)
    frame = own.name if own in episode.step_frames[-1:] else None  # fast mode keeps but a few of them
    seen_then = {"frame": frame, "action_results": results, "timings": timings, **({"settle": rest} if rest else {})}
    episode.folder.append("step", {**_record(episode.steps, raws, request), **seen_then})
    return StepResult(observation, info, reason)


def _read(session: Session, request: StepRequest) -> tuple[Pacing, list[Any], list[Action]]:
    """Return the waits of a step, and its actions as they came and parsed. Raises: ActionError."""
    if isinstance(request.gap_s, bool) or not isinstance(request.gap_s, int | float) or not request.gap_s >= 0:
        raise ActionError(f"wait_between_actions must be a number of seconds, not {request.gap_s!r}")
    pacing = _pacing(session, request.settle_ignore)
    return pacing, *_parse(session, request.actions, pacing)


def _pacing(session: Session, settle_ignore: Any) -> Pacing:
    """Return the waits of this step. Raises: ActionError for boxes that no settle can leave out."""
    pacing = session.pacing
    if not settle_ignore:
        return pacing
    boxes = joined_boxes(pacing.ignore, settle_ignore, session.runner.screen_size())
    return dataclasses.replace(pacing, ignore=boxes)


def _parse(session: Session, given: Any, pacing: Pacing) -> tuple[list[Any], list[Action]]:
    raws: Any = [] if given is None else [given] if isinstance(given, Mapping) else given
    screen = session.runner.screen_size()
    roles = copy.copy(session.roles)
    if roles is not None:
        raws = roles.split(raws)
    actions = parse_actions(raws, screen=screen)
    for action in actions:
        if isinstance(action, SettleAction):
            joined_boxes(pacing.ignore, action.ignore, screen)
    session.roles = roles  # the turn advances with a step that is well-formed
    return list(raws), actions


def _do_all(
    session: Session,
    episode: Episode,
    pacing: Pacing,
    raws: list[Any],
    actions: list[Action],
    gap_s: float,
    progress: _Progress,
) -> None:
    """Do the actions in order."""
    for index, (raw, action) in enumerate(zip(raws, actions, strict=True)):
        if index:
            pause_between_actions(session.runner, pacing, gap_s, "the gap between actions")
        result = _do_one(session, episode, pacing, raw, action)
        progress.inputs += isinstance(action, InputAction | PassthroughAction)
        if result is not None:
            progress.results.append(result)


def _do_one(session: Session, episode: Episode, pacing: Pacing, raw: Any, action: Action) -> dict[str, Any] | None:
    if isinstance(action, InputAction):
        output = session.runner.inject_action(raw)
        return None if output is None else {"action": "other", "output": output}
    if isinstance(action, WaitAction):
        left = session.limits.remaining_s(episode.elapsed_s())
        seconds = min(action.seconds, left)
        said = let_time_pass(session.runner, seconds, "a wait action")
        output = said if said is not None else f"waited {seconds:g} s"
        return {"action": "wait", "output": output}
    if isinstance(action, ScreenshotAction):
        return {"action": "screenshot", "output": None}
    if isinstance(action, SettleAction):
        boxes = joined_boxes(pacing.ignore, action.ignore, session.runner.screen_size())
        rest = settle_world(session.runner, SettleRule(action.quiet_ms, action.max_ms), boxes)
        return {"action": "settle", "output": told(rest)}
    return {"action": "other", "output": session.runner.inject_action(raw)}


def _pace(session: Session, pacing: Pacing, *, had_input: bool, settle: bool) -> dict[str, object] | None:
    rest = pause_after_input(session.runner, pacing) if had_input and settle else None
    let_time_pass(session.runner, pacing.step_cycle_s, "the step cycle")
    return rest


def _info(
    episode: Episode, results: list[dict[str, Any]], observation: dict[str, Any], timings: dict[str, float]
) -> dict[str, Any]:
    info: dict[str, Any] = {"step": episode.steps, "timings": timings}
    screen = observation.get("screen")
    for result in results:
        if result["action"] == "screenshot" and isinstance(screen, Mapping):
            result["output"] = screen.get("path") or screen["image"]
    if results:
        info["action_result"] = results[-1]
        if len(results) > 1:
            info["action_results"] = results
    if episode.observation_errors:
        info["observation_errors"] = dict(episode.observation_errors)
    if episode.failed_setup:
        info["setup_failed"] = [failed.stage for failed in episode.failed_setup]
    return info


def _listed(given: Any) -> list[Any]:
    """Return actions that nobody could read as a list, for the trajectory."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def _record(step: int, raws: list[Any], request: StepRequest) -> dict[str, Any]:
    record: dict[str, Any] = {"step": step, "actions": raws, "mark_done": request.mark_done}
    if request.metadata:
        record["metadata"] = dict(request.metadata)
    return record
