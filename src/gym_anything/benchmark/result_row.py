"""One finished run as one row: what lists, tables and filters need, without opening the record."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gym_anything.benchmark import phases
from gym_anything.benchmark.episode_record import EpisodeRecord

_STORY_CHARACTERS = 400


class ResultKey(NamedTuple):
    """What tells results of one experiment apart. Several runs may have one key: a broken one that was tried again."""

    model: str
    env: str
    task: str
    seed: int | None
    attempt: int


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One finished run.

    Attributes:
        run: its folder, relative to the experiment's: ``<model>/<env>/<task>/run_NNN``.
        stamp: time and size of its ``info.json``: a changed one is read again.
        model, env, task, seed, attempt: see ``ResultKey``.
        agent, benchmark, split, surface, runner, difficulty, tags: as the record has them.
        status, score, blame, story: the outcome; the story is cut to 400 characters.
        phase_s: seconds of each phase of the episode, by name (``reset_s``, ``agent_s`` …).
        input_tokens, output_tokens, cost_usd: of the agent's model and the judge's together; None when not known. Where
            the world never came up no model was asked: 0.
        peak_mib: of the episode and its world together; None when not known.
        interrupted: stopped by a person before it was over.
        warnings: how many there are.
    """

    run: str
    stamp: str
    model: str
    env: str
    task: str
    seed: int | None
    attempt: int
    tries: int
    agent: str
    benchmark: str
    split: str
    surface: str
    runner: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    status: str
    score: float
    blame: str | None
    story: str
    reason: str | None
    steps: int
    reward: float
    started_at: str
    finished_at: str
    duration_s: float
    phase_s: Mapping[str, float]
    world_s: float
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    peak_mib: float | None
    episode_dir: str | None
    task_digest: str | None
    interrupted: bool
    warnings: int

    @property
    def key(self) -> ResultKey:
        """What this is a result of."""
        return ResultKey(self.model, self.env, self.task, self.seed, self.attempt)

    @property
    def says_something(self) -> bool:
        """Tell whether it is a result of the agent: neither broken nor cut short."""
        return self.status != "broken" and not self.interrupted

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**dataclasses.asdict(self), "tags": list(self.tags), "phase_s": dict(self.phase_s)}


COLUMNS = tuple(field.name for field in dataclasses.fields(ResultRow))


def row_of(run: str, stamp: str, record: EpisodeRecord) -> ResultRow:
    """Return the row of a record."""
    asked, outcome = record.request, record.outcome
    words = {name: str(asked.get(name) or "") for name in ("model", "env", "task", "agent", "benchmark", "split")}
    spent = [used for used in (record.usage, record.judge_usage) if used is not None]
    if not spent and record.broke_in in (phases.LOAD, phases.RESET):
        spent = [{"cost_usd": 0.0}]
    costs = [used.get("cost_usd") for used in spent]
    return ResultRow(
        run=run,
        stamp=stamp,
        **words,
        surface=str(asked.get("surface") or "raw"),
        seed=asked.get("seed"),
        attempt=int(asked.get("attempt") or 0),
        tries=record.tries,
        runner=record.runner,
        difficulty=record.difficulty,
        tags=record.tags,
        status=outcome.status,
        score=outcome.score,
        blame=outcome.blame,
        story=outcome.story[:_STORY_CHARACTERS],
        reason=record.reason,
        steps=record.steps,
        reward=record.reward,
        started_at=record.started_at,
        finished_at=record.finished_at,
        duration_s=record.duration_s,
        phase_s=dict(record.timings),
        world_s=record.world_s,
        input_tokens=sum(int(used.get("input_tokens") or 0) for used in spent) if spent else None,
        output_tokens=sum(int(used.get("output_tokens") or 0) for used in spent) if spent else None,
        cost_usd=None if not spent or None in costs else sum(float(cost or 0) for cost in costs),
        peak_mib=record.memory.get("whole_mib"),
        episode_dir=record.episode_dir,
        task_digest=record.task_digest,
        interrupted=record.interrupted,
        warnings=len(record.warnings),
    )


def cells_of(row: ResultRow) -> tuple[Any, ...]:
    """Return a row's values as SQLite stores them, in the order of ``COLUMNS``."""
    plain = {"tags": json.dumps(row.tags), "phase_s": json.dumps(dict(row.phase_s))}
    return tuple(plain.get(name, getattr(row, name)) for name in COLUMNS)


def row_of_cells(cells: Iterable[Any]) -> ResultRow:
    """Rebuild a row from ``cells_of``."""
    values = dict(zip(COLUMNS, cells, strict=True))
    values["tags"] = tuple(json.loads(values["tags"]))
    values["phase_s"] = json.loads(values["phase_s"])
    values["interrupted"] = bool(values["interrupted"])
    return ResultRow(**values)


def counted(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Return one row for each key, the one that counts, in the order in which keys first appear.

    The newest that says something about the agent; where there is none, the newest at all.
    """
    found: dict[ResultKey, ResultRow] = {}
    for row in rows:
        there = found.get(row.key)
        better = there is None or (row.says_something, row.finished_at) >= (there.says_something, there.finished_at)
        if better:
            found[row.key] = row
    return list(found.values())
