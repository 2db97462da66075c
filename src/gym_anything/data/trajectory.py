"""A trajectory: one episode as it was played, read from its folder. What exports are made of.

Pictures stay on disk until somebody asks for one: a trajectory of a thousand steps is small.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.episode.artifacts import SUMMARY, TRAJECTORY, frame_name
from gym_anything.episode.limits import COMPLETED
from gym_anything.errors import BenchmarkError, SpecError
from gym_anything.specs.loading import load_task


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """One call of ``env.step``.

    Attributes:
        number: from 1; a turn that was refused before it became a step has the number of the step that follows it.
        ts: when it was over, seconds since the epoch.
        actions: as the agent sent them, guest pixels.
        before, after: the pictures that the agent saw before and after it; None where none was kept. Fast mode keeps
            two a second, and a picture of another moment is never shown in place of one. After a step that was refused
            or broke off the agent has seen nothing new: the next one's ``before`` is the same.
        metadata: what the agent put beside it (``thought``, ``model_action``, ``usage`` …).
        results: what the actions returned.
        error: why it was refused or broke off: ``{code, message, …}``; None when it was done.
        mark_done: with it the episode was declared over.
        timings: seconds of its parts.
    """

    number: int
    ts: float
    actions: Sequence[Any]
    before: Path | None = None
    after: Path | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[Any] = ()
    error: Mapping[str, Any] | None = None
    mark_done: bool = False
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def thought(self) -> str | None:
        """What the agent said that it wanted, if it did."""
        said = self.metadata.get("thought")
        return said if isinstance(said, str) and said else None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode.

    Attributes:
        id: the same for the same run wherever its folder is moved within an experiment's; short.
        source: where it lies, relative to the experiment's folder.
        exp: the experiment's name.
        record: what became of it.
        prompt: what the agent was told; None when that is not known any more.
        env_id, task_id: as the specs have them.
        screen: (width, height) in guest pixels; None without one.
        steps: in order.
    """

    id: str
    source: str
    exp: str
    record: EpisodeRecord
    prompt: str | None
    env_id: str | None
    task_id: str | None
    screen: tuple[int, int] | None
    steps: tuple[TrajectoryStep, ...]

    @property
    def agent_finished(self) -> bool:
        """Tell whether the agent itself declared the episode over, and not a limit, a stop or an error."""
        return self.record.reason == COMPLETED and not self.record.interrupted


def read_trajectory(episode_dir: Path, record: EpisodeRecord, *, exp: str, source: str) -> Trajectory:
    """Read an episode's folder.

    Raises: BenchmarkError when there is no trajectory, or when it is not one. A last line that was cut off is left out:
        a process that was killed wrote it.
    """
    session: Mapping[str, Any] = {}
    begun: Mapping[str, Any] = {}
    steps: list[TrajectoryStep] = []
    seen = _picture(episode_dir, 0)
    for event in _events(episode_dir / TRAJECTORY):
        match event.get("event"):
            case "reset" if not begun:
                begun = event
            case "session" if not session:
                session = event
            case "step":
                steps.append(step := _read_step(episode_dir, event, len(steps) + 1, seen))
                if step.after is not None or step.error is None:
                    seen = step.after
            case "refused":
                steps.append(replace(_read_step(episode_dir, event, len(steps) + 1, seen), after=None))
    resolution = session.get("resolution")
    is_size = isinstance(resolution, list) and len(resolution) == 2 and 0 not in resolution
    name = "\0".join((exp, source, record.started_at))
    return Trajectory(
        id=hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16],
        source=source,
        exp=exp,
        record=record,
        prompt=_prompt(begun, record),
        env_id=begun.get("env_id"),
        task_id=begun.get("task_id"),
        screen=(int(resolution[0]), int(resolution[1])) if is_size and resolution else None,
        steps=tuple(steps),
    )


def read_summary(episode_dir: Path) -> Mapping[str, Any]:
    """Return an episode's ``summary.json``. Raises: BenchmarkError when it has none: it is not over."""
    try:
        data = json.loads((episode_dir / SUMMARY).read_bytes())
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"{episode_dir} holds no finished episode: {error}") from error
    if not isinstance(data, dict):
        raise BenchmarkError(f"{episode_dir / SUMMARY} is no summary of an episode")
    return data


def _read_step(folder: Path, event: Mapping[str, Any], number: int, seen: Path | None) -> TrajectoryStep:
    try:
        number = int(event.get("step") or number)
        actions = event.get("actions") or []
        return TrajectoryStep(
            number=number,
            ts=float(event.get("ts") or 0.0),
            actions=list(actions),
            before=seen,
            after=_picture(folder, number),
            metadata=dict(event.get("metadata") or {}),
            results=list(event.get("action_results") or []),
            error=dict(event["error"]) if event.get("error") else None,
            mark_done=bool(event.get("mark_done")),
            timings=dict(event.get("timings") or {}),
        )
    except (TypeError, ValueError) as error:
        raise BenchmarkError(f"step {number} in {folder / TRAJECTORY} is none: {error}") from error


def _picture(folder: Path, number: int) -> Path | None:
    path = folder / frame_name(number)
    return path if path.is_file() else None


def _events(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    event = json.loads(line)
                except ValueError as error:
                    if not line.endswith(b"\n"):
                        return
                    raise BenchmarkError(f"line {number} of {path} is no event: {error}") from error
                if isinstance(event, dict):
                    yield event
    except OSError as error:
        raise BenchmarkError(f"{path} cannot be read: {error.strerror}", detail={"path": str(path)}) from error


def _prompt(begun: Mapping[str, Any], record: EpisodeRecord) -> str | None:
    """Return what the episode kept; one that kept nothing is of an older version: the task's folder is asked."""
    kept = begun.get("prompt")
    if isinstance(kept, str):
        return kept
    env_dir = Path(str(record.request.get("env_dir") or ""))
    if not env_dir.is_absolute():
        return None
    try:
        return load_task(env_dir, str(record.request.get("task"))).spec.prompt
    except (SpecError, OSError):  # moved, renamed or broken since
        return None
