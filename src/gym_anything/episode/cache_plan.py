"""Which checkpoint an episode starts from, and which one it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gym_anything.episode.session import Session
from gym_anything.errors import CheckpointError, SpecInvalid, UnsupportedFeature, WorldLost
from gym_anything.specs.env_spec import CACHE_LEVELS


@dataclass(frozen=True, slots=True)
class CachePlan:
    """What was asked of the cache.

    Attributes:
        level: the asked level; None: no cache.
        use_savevm: with memory and processes.
    """

    level: str | None = None
    use_savevm: bool = False

    def levels_to_try(self) -> Sequence[str]:
        """Return the asked level and those below it, the asked one first."""
        if self.level is None:
            return ()
        return CACHE_LEVELS[: CACHE_LEVELS.index(self.level) + 1][::-1]


def plan_cache(session: Session, *, use_cache: bool, cache_level: str, use_savevm: bool) -> CachePlan:
    """Check what the caller asked of the cache; nothing is started.

    ``use_savevm`` asks for a cache by itself. ``default`` takes the spec's level and kind.
    Raises: SpecInvalid for an unknown level, UnsupportedFeature for what the runner does not have.
    """
    known = (*CACHE_LEVELS, "default")
    if cache_level not in known:
        raise SpecInvalid(
            f"cache_level must be one of {', '.join(known)}, not {cache_level!r}", detail={"key": "cache_level"}
        )
    if not use_cache and not use_savevm:
        return CachePlan()
    runner, spec = session.runner, session.env_spec
    level: str = cache_level
    if cache_level == "default":
        level, use_savevm = spec.default_cache_level, use_savevm or spec.default_use_savevm
    if not runner.supports_checkpoint_caching():
        raise _unsupported(session, "use_cache", "it makes no checkpoints", "call reset without use_cache")
    if use_savevm and not runner.supports_savevm():
        raise _unsupported(session, "use_savevm", "it saves disks, not memory", "call reset with use_cache alone")
    if level == "post_task" and session.task_spec is None:
        raise _unsupported(session, "cache_level='post_task'", "there is no task", "name a task, or use 'post_start'")
    return CachePlan(level, use_savevm)


def restore(session: Session, plan: CachePlan, seed: int | None) -> str | None:
    """Bring the world up from the highest checkpoint of the plan there is; returns its level, None without one.

    A checkpoint that turns out unusable is warned about and the next lower one is tried.
    """
    for level in plan.levels_to_try():
        session.runner.set_checkpoint_key(level, session.task_key, plan.use_savevm)
        if not session.runner.checkpoint_exists():
            continue
        session.report("restoring", level=level)
        try:
            if session.runner.start_from_checkpoint(seed) is not False:
                return level
            session.warn(f"the {level} checkpoint could not be started from; going on without it")
        except CheckpointError as error:
            session.warn(f"the {level} checkpoint is not usable: {error}")
        session.runner.stop()
    return None


def save(session: Session, plan: CachePlan, level: str) -> None:
    """Make the asked checkpoint; a failure is warned about, since the world goes on."""
    session.runner.set_checkpoint_key(level, session.task_key, plan.use_savevm)
    session.report("saving", level=level)
    try:
        if session.runner.create_checkpoint() is False:
            session.warn(f"the {level} checkpoint was not made")
    except WorldLost:
        raise
    except CheckpointError as error:
        session.warn(f"the {level} checkpoint was not made: {error}")


def _unsupported(session: Session, feature: str, reason: str, fix: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{session.runner_name} does not support {feature}: {reason}; {fix}",
        detail={"feature": feature, "reason": reason, "fix": fix},
    )
