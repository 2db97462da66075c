"""From nothing to the first observation: the order of the stages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from gym_anything.actions.model import ScreenshotAction, SettleAction, WaitAction
from gym_anything.actions.parse import parse_action
from gym_anything.episode import cache_plan
from gym_anything.episode.artifacts import RECORDING, EpisodeFolder
from gym_anything.episode.cache_plan import CachePlan
from gym_anything.episode.episode import Episode
from gym_anything.episode.hooks import run_hook, run_stage
from gym_anything.episode.init_input import init_actions
from gym_anything.episode.observing import observe
from gym_anything.episode.pacing import DEFAULT_GAP_S, let_time_pass, pause_between_actions
from gym_anything.episode.recording import start_frame_work
from gym_anything.episode.session import Session
from gym_anything.episode.settling import SettleRule, joined_boxes, settle_world
from gym_anything.episode.task_content import task_content_digest


def begin_episode(session: Session, plan: CachePlan, seed: int | None) -> Episode:
    """Make the episode's folder and tell the world about it; nothing is started."""
    recording, runner = session.env_spec.recording, session.runner
    folder = EpisodeFolder(Path(recording.output_dir), session.redactor)
    sample = runner.capture_frame if runner.supports_live_recording() and runner.has_screen() else None
    episode = Episode(folder, start_frame_work(folder.path / RECORDING, recording, sample=sample), seed)
    task_id = session.task_spec.id if session.task_spec is not None else None
    if session.roles is not None:
        session.roles.restart()
    folder.append(
        "reset",
        {
            "env_id": session.env_spec.id,
            "task_id": task_id,
            "prompt": session.task_spec.prompt if session.task_spec is not None else None,
            "seed": seed,
            "runner": session.runner_name,
            "fast_io": session.fast_io,
            "cache_level": plan.level,
            "use_savevm": plan.use_savevm,
        },
    )
    context = episode_context(session, episode)
    if plan.level is not None:
        context["task_digest"] = task_content_digest(session)
    runner.on_episode_start(context)
    return episode


def episode_context(session: Session, episode: Episode) -> dict[str, Any]:
    """Return what a runner is told about the coming episode."""
    task_id = session.task_spec.id if session.task_spec is not None else None
    folder = str(episode.folder.path)
    return {"episode_dir": folder, "env_id": session.env_spec.id, "task_id": task_id, "seed": episode.seed}


def bring_up(session: Session, episode: Episode, plan: CachePlan) -> dict[str, Any]:
    """Start or restore the world, or take the warm one, set it up, and return the first observation.

    A checkpoint of a level is taken after that stage and skips what came before; the reset script and ``hooks.reset``
    always run, and once more after a ``post_task`` checkpoint was made: first and restored runs agree. After a failed
    stage no checkpoint is made.
    Raises: whatever the world raises; the caller stops it.
    """
    warm, session.warm = session.warm, None
    if warm is None:
        level = set_up_world(session, episode, plan)
    else:
        warm.give_to(session, episode)
        session.runner.go_on()
        level = episode.restored_level
    set_up_task(session, episode, is_restored=level == "post_task")
    if _checkpoint(session, episode, plan, "post_task", level):
        # The world has begun anew, as later ones will that start from it: what runs in every episode runs here, too.
        set_up_task(session, episode, is_restored=True)
    observation = observe(session, episode, is_step=False)
    episode.began_at = time.monotonic()
    return observation


def set_up_world(session: Session, episode: Episode, plan: CachePlan) -> str | None:
    """Start or restore the world and run the stages that belong to no task; returns the level it was restored from."""
    level = episode.restored_level = _start(session, episode, plan)
    hooks = session.env_spec.hooks
    if level is None:
        run_hook(session, episode, "pre_start", hooks.pre_start)
        _checkpoint(session, episode, plan, "pre_start", level)
    if level in (None, "pre_start"):
        run_hook(session, episode, "post_start", hooks.post_start)
        _checkpoint(session, episode, plan, "post_start", level)
    return level


def set_up_task(session: Session, episode: Episode, *, is_restored: bool) -> None:
    """Run the stages of every episode (reset) and, unless they are in the checkpoint, those of the task."""
    spec, task = session.env_spec, session.task_spec
    script = spec.reset_script
    if script:
        run_stage(session, episode, "reset", lambda: session.runner.run_reset(script, episode.seed))
    run_hook(session, episode, "reset", spec.hooks.reset)
    if task is None or is_restored:
        return
    run_hook(session, episode, "pre_task", task.hooks.pre_task, timeout=task.hooks.pre_task_timeout)
    init_script = task.init.init_script
    if init_script:
        run_stage(session, episode, "init_script", lambda: session.runner.run_task_init(init_script))
    _play_init_input(session, task.init.init_pyautogui)


def _start(session: Session, episode: Episode, plan: CachePlan) -> str | None:
    began = time.monotonic()
    session.world_is_up = True
    level = cache_plan.restore(session, plan, episode.seed)
    if level is None:
        session.report("starting", runner=session.runner_name)
        session.runner.start(seed=episode.seed)
    episode.add_time("start_s" if level is None else "restore_s", time.monotonic() - began)
    return level


def _checkpoint(session: Session, episode: Episode, plan: CachePlan, stage: str, restored: str | None) -> bool:
    """Make the asked checkpoint after its own stage, unless the world came from it or its set-up failed.

    Returns: whether it was tried; the world may then have begun anew.
    """
    if plan.level != stage or restored == stage:
        return False
    if episode.failed_setup:
        session.warn(f"no {stage} checkpoint was made: {episode.failed_setup[0].stage} failed")
        return False
    began = time.monotonic()
    cache_plan.save(session, plan, stage)
    episode.add_time("checkpoint_s", time.monotonic() - began)
    return True


def _play_init_input(session: Session, items: Any) -> None:
    """Play the task's opening input with the default gap between actions."""
    screen = session.runner.screen_size()
    raws = init_actions(items)
    actions = [parse_action(raw, screen=screen) for raw in raws]
    for index, (raw, action) in enumerate(zip(raws, actions, strict=True)):
        if index:
            pause_between_actions(session.runner, session.pacing, DEFAULT_GAP_S, "the gap between init actions")
        if isinstance(action, WaitAction):
            let_time_pass(session.runner, action.seconds, "an init wait")
        elif isinstance(action, SettleAction):
            boxes = joined_boxes(session.pacing.ignore, action.ignore, screen)
            settle_world(session.runner, SettleRule(action.quiet_ms, action.max_ms), boxes)
        elif not isinstance(action, ScreenshotAction):
            session.runner.inject_action(raw)
