"""Experiments that were really played, on the fake world; only their verdicts are made up."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.results import ResultsFolder, finish_run
from gym_anything.episode.limits import COMPLETED
from gym_anything.errors import ActionError, ActionUnsupported
from tests.unit.benchmark.result_rows import OUTCOMES
from tests.unit.episode.fake_envs import fake_env, task_spec

TURNS: tuple[tuple[list[dict[str, Any]], str | None], ...] = (
    ([{"mouse": {"left_click": [10, 20]}}], "open the field"),
    ([{"keyboard": {"text": "héllo"}}, {"keyboard": {"keys": ["ctrl", "s"]}}], None),
)


def play(
    root: Path,
    task: str = "a",
    status: str = "passed",
    *,
    exp: str = "first",
    model: str = "m",
    turns: Sequence[tuple[list[dict[str, Any]], str | None]] = TURNS,
    fast_io: bool = False,
    attempt: int = 0,
    **facts: Any,
) -> Path:
    """Play one episode into ``<root>/<exp>/…`` and return its run folder."""
    request = EpisodeRequest(
        "/nowhere/notes", task, "notes", benchmark="small", agent="oracle", model=model, seed=7, attempt=attempt
    )
    run_dir = ResultsFolder(root, exp).new_run_dir(request)
    spec = task_spec(id=f"{task}@1", description=f"Type it into {task}")
    env = fake_env(run_dir, spec, recording={"output_dir": str(run_dir)}, fast_io=fast_io)
    env.reset(seed=7)
    for actions, thought in turns:
        with contextlib.suppress(ActionError, ActionUnsupported):  # an agent is told, and goes on
            env.step(actions, trajectory_metadata={"thought": thought} if thought else None)
    env.step([], mark_done=True)
    known = {
        "reason": COMPLETED,
        "steps": len(turns),
        "reward": 1.0 if status == "passed" else 0.0,
        "runner": "fake",
        "started_at": f"2026-01-01T00:00:{attempt:02d}.250+00:00",
        "finished_at": f"2026-01-01T00:01:{attempt:02d}.500+00:00",
        "duration_s": 60.25,
        "timings": {"reset_s": 1.5, "agent_s": 2.25},
        "difficulty": "easy",
        "tags": ("typing",),
        "task_digest": "sha256:1",
        **facts,
    }
    record = EpisodeRecord(request.public(), OUTCOMES[status], episode_dir=Path(str(env.episode_dir)).name, **known)
    env.close()
    finish_run(run_dir, record)
    return run_dir
