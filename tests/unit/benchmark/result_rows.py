"""Rows of results, for the tests of whoever reads them."""

from __future__ import annotations

from typing import Any

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.result_row import ResultRow, row_of
from gym_anything.episode.outcome import Outcome

OUTCOMES = {
    "passed": Outcome.passed(100, "well done"),
    "failed": Outcome.failed(20, "not quite"),
    "broken": Outcome.broken("world", "it fell over"),
}


def record(
    status: str = "passed", task: str = "a", *, env: str = "notes", model: str = "m", attempt: int = 0, **more: Any
) -> EpisodeRecord:
    """Return the record of a run that ended like that."""
    request = EpisodeRequest(f"/envs/{env}", task, env, benchmark="small", model=model, attempt=attempt)
    facts = {"steps": 3, "duration_s": 2.0, "finished_at": "2026-01-01T00:00:00+00:00", "tags": ("typing",), **more}
    return EpisodeRecord(request.public(), OUTCOMES[status], **facts)


def row(status: str = "passed", task: str = "a", **more: Any) -> ResultRow:
    """Return its row."""
    made = record(status, task, **more)
    asked = made.request
    run = f"{asked['model']}/{asked['env']}/{task}/run_{asked['attempt'] + 1:03d}"
    return row_of(run, "1-1", made)


def runs_of(task: str, passed: int, failed: int, broken: int = 0, **more: Any) -> list[ResultRow]:
    """Return the rows of so many runs of a task."""
    statuses = ["passed"] * passed + ["failed"] * failed + ["broken"] * broken
    return [row(status, task, attempt=number, **more) for number, status in enumerate(statuses)]
