"""Asking the judge, and turning what comes back (a verdict or a failure to judge) into report, outcome and reward."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything._util.settings import UNSET, given, resolve
from gym_anything.episode.artifacts import FINAL, POST_VERIFICATION
from gym_anything.episode.episode import Episode
from gym_anything.episode.outcome import Outcome
from gym_anything.episode.rewards import final_reward
from gym_anything.episode.session import Session
from gym_anything.episode.world_capabilities import WorldCapabilities
from gym_anything.errors import Aborted, GymAnythingError
from gym_anything.verification.contract import JudgeRequest, Verdict
from gym_anything.verification.judge import judge

if TYPE_CHECKING:
    from gym_anything.specs.task_spec import TaskSpec

VERIFIER_TIMEOUT = env_vars.declare(
    "GYM_ANYTHING_VERIFIER_TIMEOUT",
    env_vars.not_negative,
    600.0,
    "Seconds that a verifier may take before it is stopped; success.spec.timeout_sec sets it for one task.",
    "episode",
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What judging gave.

    Attributes:
        report: the public report; also when nothing could be decided.
        outcome: None only without a task.
    """

    report: dict[str, Any]
    outcome: Outcome | None
    reward: float


def judge_now(session: Session, episode: Episode, output_path: Path) -> Judgement:
    """Judge the present state of the world.

    Raises: Aborted. Every other failure to judge is a broken outcome.
    """
    if session.task_spec is None:
        return Judgement(Verdict(False, 0.0, "there is no task", decided=False, mode="none").report(), None, 0.0)
    request = build_request(session, episode, output_path)
    try:
        verdict = judge(request, capabilities := _capabilities(session, request))
    except Aborted:
        raise
    except GymAnythingError as error:
        return _broken(session, request, error)
    outcome = _outcome(episode, verdict)
    report = session.redactor.json({**verdict.report(), **request.spending.report()})
    if capabilities.copied_in:
        report["copied_in"] = list(capabilities.copied_in)
    reward = 0.0 if outcome.is_broken else final_reward(session.task_spec, verdict)
    return Judgement(report, outcome, reward)


def _capabilities(session: Session, request: JudgeRequest) -> WorldCapabilities:
    return WorldCapabilities(
        session.runner,
        environment=request.environment,
        cancellation=request.cancellation,
        spending=request.spending,
    )


def _outcome(episode: Episode, verdict: Verdict) -> Outcome:
    if episode.failed_setup:
        story = "\n".join(failed.story() for failed in episode.failed_setup)
        stages = [failed.stage for failed in episode.failed_setup]
        return Outcome.broken("content", story, {"setup_failed": stages, "passed": verdict.passed})
    if not verdict.decided:
        return Outcome.broken("content", verdict.feedback)
    make = Outcome.passed if verdict.passed else Outcome.failed
    return make(verdict.score, verdict.feedback)


def _broken(session: Session, request: JudgeRequest, error: GymAnythingError) -> Judgement:
    outcome = Outcome.from_error(error, default_blame="judge", doing="judging")
    success = request.success or {}
    report = {
        "passed": False,
        "score": 0.0,
        "feedback": outcome.story,
        "decided": False,
        "mode": request.mode_override or success.get("mode") or "none",
        "mode_source": "override" if request.mode_override else "task",
        "error": error.to_wire(),
        **request.spending.report(),
    }
    return Judgement(session.redactor.json(report), outcome, 0.0)


def build_request(session: Session, episode: Episode, output_path: Path | None) -> JudgeRequest:
    """Return what the judge (or a reward function) is asked. Called: with a task."""
    task = session.task_spec
    assert task is not None
    success = success_of(task)
    overrides = session.overrides
    seconds = resolve(
        "verifier time-out",
        argument=given(overrides.timeout_sec),
        environment=VERIFIER_TIMEOUT.lookup(),
        file=_own_timeout(success),
        default=VERIFIER_TIMEOUT.default,
    ).value
    return JudgeRequest(
        success=success,
        task_root=session.task_root,
        env_root=session.env_root,
        episode_dir=episode.folder.path,
        traj=trajectory(episode),
        env_info={
            "env_id": session.env_spec.id,
            "episode_dir": str(episode.folder.path),
            "container": session.runner.get_runtime_info().container_name,
        },
        task_info={"task_id": task.id, "metadata": task.metadata, "task_spec": task.to_dict(defaults=True)},
        mode_override=overrides.mode,
        environment=overrides.environment,
        deadline=Deadline.after(seconds),
        secrets=[*session.secret_values(), *env_vars.secret_values(overrides.environment)],
        output_path=output_path,
        cancellation=session.cancellation,
    )


def success_of(task: TaskSpec) -> dict[str, Any] | None:
    """Return a task's success criteria as the judge takes them; None without any."""
    # ``success`` left out is "nothing to judge by"; left empty it is a mistake that the judge names.
    success = task.success.model_dump(mode="json") if "success" in task.model_fields_set else None
    if success is not None and "mode" not in task.success.model_fields_set:
        success["mode"] = None
    return success


def _own_timeout(success: dict[str, Any] | None) -> Any:
    value = ((success or {}).get("spec") or {}).get("timeout_sec")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else UNSET


def trajectory(episode: Episode) -> dict[str, Any]:
    """Return ``traj`` as a verifier receives it: paths as text, steps as they were logged."""
    episode.frame_work.flush()
    folder = episode.folder.path
    frames = [str(path) for path in episode.frames if path.is_file()]

    def existing(name: str) -> str | None:
        return str(folder / name) if (folder / name).is_file() else None

    return {
        "steps": list(episode.folder.events("step")),
        "episode_dir": str(folder),
        "frames": frames,
        "step_frames": [str(path) for path in episode.step_frames if path.is_file()],
        "first_frame": frames[0] if frames else None,
        "last_frame": frames[-1] if frames else None,
        "final_screenshot": existing(FINAL),
        "post_verification_screenshot": existing(POST_VERIFICATION),
    }
