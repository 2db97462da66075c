"""Worlds that are up before their task is known: what a pool keeps ready.

``warm_up`` does what ``reset`` does up to the task: start or restore, ``pre_start``, ``post_start``, their checkpoints.
Then the world rests, where its runner can have it stand still, until the next ``reset`` goes on from there. What the
world's own stages left (failed hooks, times, files of the runner) becomes part of that episode; until then it lies in a
folder of its own.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.state_dir import Run, WorldDir
from gym_anything.episode.artifacts import SUMMARY, TRAJECTORY, EpisodeFolder
from gym_anything.episode.cache_plan import CachePlan
from gym_anything.episode.episode import Episode
from gym_anything.episode.guarding import guarded
from gym_anything.episode.recording import FrameWork
from gym_anything.episode.reset import episode_context, set_up_world
from gym_anything.episode.session import Session

_OURS = {TRAJECTORY, SUMMARY}


@dataclass(frozen=True, slots=True)
class WarmWorld:
    """A world that waits for its episode.

    Attributes:
        plan, seed: what it was brought up with. place: its folder until then.
        stages: what became of its own stages. warnings: what was remarked meanwhile.
    """

    plan: CachePlan
    seed: int | None
    place: WorldDir
    stages: Episode
    warnings: list[str]

    def fits(self, session: Session, plan: CachePlan, seed: int | None) -> bool:
        """Tell whether a reset with these arguments would have begun with the same world."""
        same_seed = seed is None or seed == self.seed or not session.runner.seed_matters_at_start()
        return plan == self.plan and same_seed

    def give_to(self, session: Session, episode: Episode) -> None:
        """Make what happened so far part of the episode; its times carry ``warm_``, since the episode did not wait."""
        for event in self.stages.folder.events("setup_failed"):
            episode.folder.append("setup_failed", {key: event[key] for key in event if key not in ("event", "ts")})
        episode.failed_setup.extend(self.stages.failed_setup)
        for name, seconds in self.stages.timings.items():
            episode.add_time(f"warm_{name}", seconds)
        for warning in self.warnings:
            session.warn(warning)
        episode.restored_level = self.stages.restored_level
        for path in sorted(self.stages.folder.path.iterdir()):
            if path.name not in _OURS:
                shutil.move(path, episode.folder.path / path.name)
        self.forget()

    def forget(self) -> None:
        """Remove its folder. Idempotent."""
        self.stages.folder.close()
        self.place.remove()


def warm_up(session: Session, plan: CachePlan, seed: int | None) -> None:
    """Bring the world up, up to its task. Called: while it is not up. Raises: as ``reset``; nothing is left then."""
    place = Run.current().new_world("warm", env=session.env_spec.id)
    stages = Episode(EpisodeFolder(Path(place.path), session.redactor), FrameWork(None, fps=1.0), seed)
    warm = WarmWorld(plan, seed, place, stages, [])
    try:
        session.runner.on_episode_start(episode_context(session, stages))
        with guarded(session, stages, "warm_up", stop_on_any_error=True):
            set_up_world(session, stages, plan)
            session.runner.rest()
    except BaseException:
        warm.forget()
        raise
    warm.warnings.extend(text for text in session.warnings if text not in session.env_warnings)
    session.warm = warm
