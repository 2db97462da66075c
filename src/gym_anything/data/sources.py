"""Where trajectories come from: an experiment of a benchmark run, or episode folders of one's own program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.result_row import ResultRow
from gym_anything.benchmark.results_reading import Experiment
from gym_anything.data.trajectory import Trajectory, read_summary, read_trajectory
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import BenchmarkError

JUDGED = ("passed", "failed")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which episodes to take.

    Attributes:
        statuses: how they ended; broken ones only when they are named.
        interrupted: also those that a person stopped; they were judged where they stood.
        models, envs, tasks: only these; none means all.
    """

    statuses: Sequence[str] = JUDGED
    interrupted: bool = False
    models: Sequence[str] = ()
    envs: Sequence[str] = ()
    tasks: Sequence[str] = ()

    def why_not(self, row: ResultRow) -> str | None:
        """Return why an episode is left out, or None."""
        for wanted, name in ((self.models, row.model), (self.envs, row.env), (self.tasks, row.task)):
            if wanted and name not in wanted:
                return "not asked for"
        if row.interrupted and not self.interrupted:
            return "interrupted"
        return None if row.status in self.statuses else row.status


@dataclass(slots=True)
class LeftOut:
    """What is not in an export, and why. Attributes: counts: episodes by reason. stories: a few in words."""

    counts: Counter[str] = field(default_factory=Counter)
    stories: list[str] = field(default_factory=list)

    def add(self, reason: str, story: str = "") -> None:
        """Count one."""
        self.counts[reason] += 1
        if story and len(self.stories) < 20:
            self.stories.append(story)


def trajectories_of(
    experiment: Experiment,
    choice: Choice,
    left_out: LeftOut,
    on_episode: Callable[[int, int], object] = lambda _done, _total: None,
) -> Iterator[Trajectory]:
    """Read an experiment's trajectories one after another: one for each attempt, the one that counts.

    Args: left_out: told what is not among them. on_episode: told how many of how many were looked at.
    """
    rows = experiment.counted()
    for number, row in enumerate(rows, 1):
        reason = choice.why_not(row)
        if reason is not None:
            left_out.add(reason)
        else:
            try:
                folder = experiment.episode_dir(row)
                if folder is None:
                    raise BenchmarkError(f"{row.run}: it left no artifacts")
                yield read_trajectory(folder, experiment.record(row), exp=experiment.name, source=row.run)
            except BenchmarkError as error:
                left_out.add("without a trajectory", str(error))
        on_episode(number, len(rows))


def trajectory_of_folder(episode_dir: Path, *, exp: str, env: str, task: str, **facts: Any) -> Trajectory:
    """Read an episode that no benchmark run played.

    Args:
        episode_dir: ``episode_…`` with ``summary.json``.
        exp, env, task: names for it. facts: more of the request (``agent``, ``model``, ``seed``, ``attempt``,
            ``env_dir``, ``benchmark`` …).
    Raises: BenchmarkError when it is not over, or not an episode.
    """
    summary = read_summary(episode_dir)
    outcome = _outcome(summary)
    started, ended = (_seconds(summary.get(name)) for name in ("start_ts", "end_ts"))
    model = facts.get("model") or facts.get("agent") or ""
    record = EpisodeRecord(
        {"seed": summary.get("seed"), "attempt": 0, **facts, "env": env, "task": task, "model": model},
        outcome,
        reason=summary.get("reason"),
        steps=int(summary.get("steps") or 0),
        reward=float(summary.get("reward") or 0.0),
        verifier=summary.get("verifier"),
        runner=summary.get("runner"),
        started_at=_iso(started),
        finished_at=_iso(ended),
        duration_s=round(max(0.0, ended - started), 3),
        warnings=tuple(map(str, summary.get("warnings") or ())),
    )
    return read_trajectory(episode_dir, record, exp=exp, source=episode_dir.name)


def _outcome(summary: Mapping[str, Any]) -> Outcome:
    try:
        return Outcome.from_dict(summary["outcome"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BenchmarkError(f"the summary of an episode has no outcome: {error}") from error


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
