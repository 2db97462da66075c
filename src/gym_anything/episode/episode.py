"""The state of one episode, from the first folder to the last verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything.episode.artifacts import EpisodeFolder
from gym_anything.episode.outcome import Outcome
from gym_anything.episode.recording import FrameWork


@dataclass(frozen=True, slots=True)
class FailedSetup:
    """A set-up stage that failed."""

    stage: str
    exit_code: int | None
    log_tail: str

    def story(self) -> str:
        """Return it as a sentence, with the log's end."""
        how = f"exited with {self.exit_code}" if self.exit_code is not None else "failed"
        tail = f"; the end of its log:\n{self.log_tail}" if self.log_tail else ""
        return f"set-up hook {self.stage} {how}{tail}"


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a forked episode comes from. An episode's name is that of its folder.

    Attributes:
        ancestors: names of the episodes it goes on, the first one first, its parent last.
        step: the parent's step after which it branched off.
        index: its number among the forks of one call, from 0; ``count`` is how many these were.
    """

    ancestors: tuple[str, ...]
    step: int
    index: int
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "parent": self.ancestors[-1],
            "ancestors": list(self.ancestors),
            "step": self.step,
            "index": self.index,
            "count": self.count,
        }


@dataclass
class Episode:
    """One episode. ``is_over`` is set exactly once, with the final outcome and report (``finish.seal``).

    Attributes:
        began_at: monotonic seconds of the first observation; None before.
        frames: the screenshots on disk, in order; ``step_frames`` those after steps.
        outcome: None while open, and for an episode without a task.
        judgements: how often ``evaluate`` was called.
        lineage: where it was forked from; None for one that began with ``reset``.
    """

    folder: EpisodeFolder
    frame_work: FrameWork
    seed: int | None
    lineage: Lineage | None = None
    started_ts: float = field(default_factory=time.time)
    began_at: float | None = None
    steps: int = 0
    reason: str | None = None
    frames: list[Path] = field(default_factory=list)
    step_frames: list[Path] = field(default_factory=list)
    frame_saved_at: float = float("-inf")
    failed_setup: list[FailedSetup] = field(default_factory=list)
    observation_errors: dict[str, str] = field(default_factory=dict)
    restored_level: str | None = None
    judgements: int = 0
    timings: dict[str, float] = field(default_factory=dict)
    is_over: bool = False
    outcome: Outcome | None = None
    report: dict[str, Any] | None = None
    reward: float = 0.0

    def elapsed_s(self) -> float:
        """Return the seconds since the first observation."""
        return 0.0 if self.began_at is None else time.monotonic() - self.began_at

    def add_time(self, name: str, seconds: float) -> None:
        """Add to a named total of the timings (``start_s``, ``pre_task_s`` …)."""
        self.timings[name] = round(self.timings.get(name, 0.0) + seconds, 6)
