"""Branching a running episode: one moment of its world, from which others go on."""

from __future__ import annotations

import copy
import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gym_anything._util.remove_tree import remove_tree
from gym_anything.episode.artifacts import RECORDING, EpisodeFolder
from gym_anything.episode.env_facts import session_info
from gym_anything.episode.episode import Episode, Lineage
from gym_anything.episode.guarding import stop_world
from gym_anything.episode.interrupts import interrupts_held
from gym_anything.episode.recording import FrameWork, start_frame_work
from gym_anything.episode.session import Session
from gym_anything.errors import SpecInvalid, WorldLost, WorldStartFailed
from gym_anything.verification.cancellation import Cancellation

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base_forks import BranchPoint

Fork = tuple[Session, Episode]


def fork_episode(session: Session, episode: Episode, count: int) -> list[Fork]:
    """Branch an open episode into ``count`` more; the source goes on as it is, save that it holds nothing pressed.

    Raises: SpecInvalid for a count that is none; UnsupportedFeature where the world cannot, before anything is done;
        whatever the world raises: then no fork is left, and the source goes on unless it is lost.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise SpecInvalid(f"fork: the number of forks must be a positive integer, not {count!r}", detail={"key": "n"})
    if not session.runner.supports_fork():
        raise session.runner.no_fork()
    began = time.monotonic()
    session.report("forking", count=count)
    session.runner.release_held_inputs()
    with episode.frame_work.not_looking():
        point = session.runner.branch()
    branched = time.monotonic()
    forks: list[Fork] = []
    try:
        for index in range(count):
            forks.append(_prepare(session, episode, index, count))
        _start_worlds(session, [fork for fork, _ in forks], point)
        for fork, child in forks:
            child.folder.append("session", session_info(fork, child).to_dict())
    except BaseException:
        _drop(forks)
        raise
    finally:
        point.release()
    ended = time.monotonic()
    episode.add_time("fork_s", ended - began)
    record = {"step": episode.steps, "forks": [child.folder.path.name for _, child in forks]}
    times = {"branch_s": round(branched - began, 6), "fork_s": round(ended - began, 6)}
    episode.folder.append("fork", {**record, "timings": times})
    return forks


def _prepare(session: Session, episode: Episode, index: int, count: int) -> Fork:
    """Return a fork whose world is not started: its own folder, recorder and settings, with the past of its source."""
    runner = session.runner.new_sibling()
    fork = dataclasses.replace(
        session,
        runner=runner,
        roles=copy.copy(session.roles),
        overrides=dataclasses.replace(session.overrides),
        cancellation=Cancellation(),
        warnings=list(session.warnings),
        reporter=None,
        world_is_up=False,
    )
    if session.fast_io:
        runner.set_fast_io(True)
    runner.set_reporter(fork.take_report)
    child = _continued(fork, episode, index, count)
    task_id = session.task_spec.id if session.task_spec is not None else None
    context = {"episode_dir": str(child.folder.path), "env_id": session.env_spec.id, "task_id": task_id}
    runner.on_episode_start({**session.runner.episode_context, **context, "seed": episode.seed})
    return fork, child


def _continued(fork: Session, episode: Episode, index: int, count: int) -> Episode:
    """Return an episode that goes on where another one is: its steps, time, trajectory and pictures so far."""
    folder = EpisodeFolder(Path(fork.env_spec.recording.output_dir), fork.redactor)
    folder.continue_from(episode.folder)
    episode.frame_work.flush()
    moved = {picture: folder.take_frame(picture) for picture in episode.frames if picture.is_file()}
    ancestors = episode.lineage.ancestors if episode.lineage is not None else ()
    lineage = Lineage((*ancestors, episode.folder.path.name), episode.steps, index, count)
    folder.append("forked_from", {**lineage.to_dict(), "runner": fork.runner_name})
    return dataclasses.replace(
        episode,
        folder=folder,
        frame_work=_frame_work(fork, folder),
        lineage=lineage,
        frames=[moved[picture] for picture in episode.frames if picture in moved],
        step_frames=[moved[picture] for picture in episode.step_frames if picture in moved],
        failed_setup=list(episode.failed_setup),
        observation_errors=dict(episode.observation_errors),
        timings=dict(episode.timings),
        judgements=0,
    )


def _frame_work(session: Session, folder: EpisodeFolder) -> FrameWork:
    recording, runner = session.env_spec.recording, session.runner
    sample = runner.capture_frame if runner.supports_live_recording() and runner.has_screen() else None
    return start_frame_work(folder.path / RECORDING, recording, sample=sample)


def _start_worlds(source: Session, forks: Sequence[Session], point: BranchPoint) -> None:
    """Start the worlds, as many at a time as the host has use for. Raises: what the first to fail raises."""
    with _aborted_with(source, forks), ThreadPoolExecutor(_at_a_time(len(forks)), "fork") as threads:
        for fork in forks:
            fork.world_is_up = True
        starts = [threads.submit(fork.runner.start_from_branch, point) for fork in forks]
        try:
            for start in as_completed(starts):
                _result_of(start)
        except BaseException:  # Ctrl-C, too: the others are not waited for
            for fork, start in zip(forks, starts, strict=True):
                start.cancel()
                fork.runner.abort()
            raise


def _result_of(start: Future[None]) -> None:
    try:
        start.result()
    except WorldLost as error:  # a fork's world, not the source's
        raise WorldStartFailed(f"a fork's world did not start: {error}", detail=error.detail) from error


def _at_a_time(count: int) -> int:
    return min(count, 2 * (os.cpu_count() or 1))


@contextmanager
def _aborted_with(source: Session, forks: Sequence[Session]) -> Iterator[None]:
    """While inside, ``abort`` of the source ends the starts of its forks, too."""

    def abort() -> None:
        for fork in forks:
            fork.runner.abort()

    with source.cancellation.calls(abort):
        yield


def _drop(forks: Sequence[Fork]) -> None:
    """Take away forks that the caller will never see: their worlds, recorders and folders."""
    with interrupts_held():
        for fork, child in forks:
            try:
                stop_world(fork)
            finally:
                child.frame_work.close()
                child.folder.close()
                remove_tree(child.folder.path)
