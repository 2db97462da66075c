"""The end of an episode: export, settle, last pictures, verdict, summary, recording; and the short way out."""

from __future__ import annotations

import shutil
import time
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.settings import UNSET, given, resolve
from gym_anything.episode import diagnostics
from gym_anything.episode.artifacts import FINAL, POST_VERIFICATION, SUMMARY, VERIFIER_OUTPUT
from gym_anything.episode.episode import Episode
from gym_anything.episode.hooks import HOOK_TIMEOUT, call_hook
from gym_anything.episode.interrupts import interrupts_held
from gym_anything.episode.judging import Judgement, judge_now
from gym_anything.episode.limits import WORLD_BROKE
from gym_anything.episode.observing import capture_picture
from gym_anything.episode.outcome import Outcome
from gym_anything.episode.pacing import let_time_pass
from gym_anything.episode.session import Session
from gym_anything.errors import Aborted, GymAnythingError, WorldLost

POST_TASK_SETTLE = env_vars.declare(
    "GYM_ANYTHING_POST_TASK_SETTLE_SEC",
    env_vars.not_negative,
    15.0,
    "Seconds between a post_task hook and the verdict; a task sets its own with post_task_settle_sec.",
    "episode",
)


def complete(session: Session, episode: Episode, reason: str) -> None:
    """Bring an episode to its final verdict, once; the world stays up.

    Raises: Aborted, KeyboardInterrupt. A lost world and a broken judge are outcomes.
    """
    if episode.is_over:
        return
    episode.reason = reason
    began = time.monotonic()
    session.report("completing")
    try:
        _release_inputs(session)
        export(session, episode)
        _last_pictures(session, episode)
        diagnostics.collect(session, episode)
        session.report("judging")
        judgement = judge_now(session, episode, episode.folder.path / VERIFIER_OUTPUT)
    except WorldLost as error:
        judgement = broken_judgement(error, "completing the episode")
        episode.reason = WORLD_BROKE
    episode.add_time("complete_s", time.monotonic() - began)
    seal(session, episode, judgement)


def evaluate(session: Session, episode: Episode) -> dict[str, Any]:
    """Judge the present state; the episode stays open and nothing of it is decided. Raises: WorldLost, Aborted."""
    episode.judgements += 1
    export(session, episode)
    _last_pictures(session, episode)
    judgement = judge_now(session, episode, episode.folder.path / f"evaluation_{episode.judgements:02d}_output.txt")
    report = {**judgement.report, **_outcome_field(session, judgement.outcome), "reward": judgement.reward}
    episode.folder.append("evaluate", {"step": episode.steps, "verifier": report})
    return report


def lose(session: Session, episode: Episode, error: GymAnythingError, doing: str) -> None:
    """End an episode whose world died: the outcome says so, with whom to blame and the story."""
    if episode.is_over:
        return
    episode.reason = WORLD_BROKE
    seal(session, episode, broken_judgement(error, doing))


def abandon(session: Session, episode: Episode, error: BaseException, doing: str) -> None:
    """End an episode that the caller left by an exception: no verdict, artifacts closed. Does not raise."""
    if episode.is_over:
        return
    episode.reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
    seal(session, episode, broken_judgement(error, doing))


def export(session: Session, episode: Episode) -> None:
    """Run the ``post_task`` hook and wait as long as it asks for. A failing hook is a warning; the judge decides."""
    task = session.task_spec
    if task is None or not task.hooks.post_task:
        return
    try:
        code = call_hook(session, "post_task", task.hooks.post_task, HOOK_TIMEOUT.get())
        if code != 0:
            session.warn(f"post_task hook exited with {code}")
    except (WorldLost, Aborted):
        raise
    except GymAnythingError as error:
        session.warn(f"post_task hook failed: {error}")
    own = task.post_task_settle_sec
    seconds = resolve(
        "post_task_settle_sec",
        environment=POST_TASK_SETTLE.lookup(),
        file=given(own) if own is not None else UNSET,
        default=POST_TASK_SETTLE.default,
    ).value
    let_time_pass(session.runner, seconds, "the settle after post_task")


def broken_judgement(error: BaseException, doing: str) -> Judgement:
    """Return the judgement of an episode that ended by an error."""
    outcome = Outcome.from_error(error, default_blame="caller", doing=doing)
    report: dict[str, Any] = {
        "passed": False,
        "score": 0.0,
        "feedback": outcome.story,
        "decided": False,
        "mode": "none",
        "mode_source": "default",
    }
    return Judgement(report, outcome, 0.0)


def seal(session: Session, episode: Episode, judgement: Judgement) -> None:
    """Set the final verdict and close the artifacts; nothing changes them after."""
    with interrupts_held():
        episode.report = {**judgement.report, **_outcome_field(session, judgement.outcome)}
        episode.outcome, episode.reward = judgement.outcome, judgement.reward
        episode.is_over = True
        episode.frame_work.close()
        for note in episode.frame_work.notes:
            session.warn(note)
        try:
            _write_end(session, episode, time.time())
        except OSError as error:  # a full disk takes the records; the verdict stands
            session.warn(f"the end of the episode could not be written: {error}")
        session.report("finished", outcome=judgement.outcome.status if judgement.outcome else None)


def _write_end(session: Session, episode: Episode, ended_ts: float) -> None:
    try:
        record = {"reason": episode.reason, "reward": episode.reward, "verifier": episode.report}
        episode.folder.append("finalize", record)
        episode.folder.write_json(SUMMARY, _summary(session, episode, ended_ts))
    finally:
        episode.folder.close()


def _outcome_field(session: Session, outcome: Outcome | None) -> dict[str, Any]:
    return {"outcome": session.redactor.json(outcome.as_dict()) if outcome is not None else None}


def _summary(session: Session, episode: Episode, ended_ts: float) -> dict[str, Any]:
    report = dict(episode.report or {})
    return {
        "env": session.env_spec.id,
        "task": session.task_spec.id if session.task_spec is not None else None,
        "start_ts": episode.started_ts,
        "end_ts": ended_ts,
        "steps": episode.steps,
        "verifier": report,
        "outcome": report.get("outcome"),
        "reason": episode.reason,
        "reward": episode.reward,
        "seed": episode.seed,
        "runner": session.runner_name,
        "restored_from": episode.restored_level,
        **({"lineage": episode.lineage.to_dict()} if episode.lineage is not None else {}),
        "setup_failed": [failed.stage for failed in episode.failed_setup],
        "warnings": session.warnings,
        "timings": episode.timings,
    }


def _release_inputs(session: Session) -> None:
    try:
        session.runner.release_held_inputs()
    except (WorldLost, Aborted):
        raise
    except GymAnythingError as error:
        session.warn(f"held keys and buttons were not released: {error}")


def _last_pictures(session: Session, episode: Episode) -> None:
    """Write both last pictures; one that cannot be had or written is a warning, the judge may not need it."""
    folder = episode.folder.path
    try:
        if capture_picture(session, folder / POST_VERIFICATION):
            shutil.copyfile(folder / POST_VERIFICATION, folder / FINAL)
    except (WorldLost, Aborted):
        raise
    except (GymAnythingError, OSError) as error:
        session.warn(f"no final screenshot: {error}")
