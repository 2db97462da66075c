"""The levels at which a world is saved: after which stage, and which one may stand in for which."""

from __future__ import annotations

from dataclasses import dataclass

from gym_anything.errors import CheckpointUnsupported

LEVELS = ("pre_start", "post_start", "post_task")
"""From the least prepared to the most. A checkpoint of a level was taken after that stage."""
PER_TASK = "post_task"


@dataclass(frozen=True)
class CheckpointName:
    """What a checkpoint is asked for by.

    Attributes:
        level: one of ``LEVELS``.
        task_id: the task, for ``post_task`` only; lower levels are shared by all tasks of an environment.
        memory: with the processes and memory of the world, not its disk alone.
    """

    level: str
    task_id: str | None = None
    memory: bool = False

    @classmethod
    def checked(cls, level: str, task_id: str | None = None, memory: bool = False) -> CheckpointName:
        """Build one; the task is dropped where it does not matter.

        Raises: CheckpointUnsupported for an unknown level, or ``post_task`` without a task.
        """
        if level not in LEVELS:
            raise CheckpointUnsupported(
                f"no such checkpoint level: {level!r}; known: {', '.join(LEVELS)}", detail={"level": level}
            )
        if level == PER_TASK and not task_id:
            raise CheckpointUnsupported(f"a {PER_TASK} checkpoint needs a task", detail={"level": level})
        return cls(level, task_id if level == PER_TASK else None, memory)


def stand_ins(level: str) -> tuple[str, ...]:
    """Return the levels from which a world may be restored when ``level`` is asked, the best first."""
    return tuple(reversed(LEVELS[: LEVELS.index(level) + 1]))
