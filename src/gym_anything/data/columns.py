"""The typed tables of an export: what each column holds, and the row of a trajectory. Versioned; pure.

A column may be added under the same version; one that goes, or changes its meaning, is a new version, which older
readers refuse.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from gym_anything.data.trajectory import Trajectory, TrajectoryStep

VERSION = 1
Kind = Literal["text", "texts", "whole", "number", "flag", "time", "json", "seconds_by_name"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Attributes: name: its name. kind: see ``KINDS``. about: meaning, unit, when it is null."""

    name: str
    kind: Kind
    about: str


KINDS: Mapping[Kind, str] = {
    "text": "string",
    "texts": "list of string",
    "whole": "int64",
    "number": "float64",
    "flag": "bool",
    "time": "timestamp[us, UTC]",
    "json": "string that holds JSON",
    "seconds_by_name": "map of string to float64",
}

EPISODE_COLUMNS = (
    Column("episode_id", "text", "joins the tables; the same whenever the same run is exported"),
    Column("exp", "text", "the experiment"),
    Column("source", "text", "the run's folder below the experiment's"),
    Column("benchmark", "text", "its name; empty for an environment that stands alone"),
    Column("env", "text", "the environment's folder name"),
    Column("task", "text", "the task's folder name"),
    Column("env_id", "text", "`id` of `env.json`; null when the episode broke before that was known"),
    Column("task_id", "text", "`id` of `task.json`; null likewise"),
    Column("split", "text", "of the benchmark that was asked for"),
    Column("difficulty", "text", "the task's own; null when it is not rated"),
    Column("tags", "texts", "the task's own"),
    Column("task_digest", "text", "content of the task's folder; null when it could not be read"),
    Column("prompt", "text", "what the agent was told; null when that is not known any more"),
    Column("agent", "text", "key or locator"),
    Column("model", "text", "the model's name, or the agent's"),
    Column("agent_args", "json", "the agent's settings, secrets masked, prompts by their digest"),
    Column("runner", "text", "the world; null when none was chosen"),
    Column("seed", "whole", "null when the world was free"),
    Column("attempt", "whole", "0 for the first run of a task with a seed"),
    Column("status", "text", "`passed`, `failed` or `broken`"),
    Column("score", "number", "0 to 100; 0 when broken"),
    Column("reward", "number", "of the last step"),
    Column("blame", "text", "who has to act; null unless broken"),
    Column("story", "text", "the judge's feedback, or how the episode broke"),
    Column("verifier", "json", "the judge's report; null when nothing was judged"),
    Column("reason", "text", "why the episode ended, such as `Agent Completed`, `max_steps`, `timeout`"),
    Column("interrupted", "flag", "a person stopped it"),
    Column("steps", "whole", "turns of the agent, refused ones included"),
    Column("screen_width", "whole", "guest pixels; null without a screen"),
    Column("screen_height", "whole", "guest pixels; null without a screen"),
    Column("started_at", "time", "null when it is not known"),
    Column("finished_at", "time", "null when it is not known"),
    Column("duration_s", "number", "from start to verdict"),
    Column("timings", "seconds_by_name", "seconds of each phase"),
    Column("input_tokens", "whole", "of the agent's model; null for an agent that keeps no accounts"),
    Column("output_tokens", "whole", "likewise"),
    Column("cost_usd", "number", "likewise; null when the prices are not known"),
    Column("warnings", "texts", "what was tolerated or went wrong without deciding anything"),
)

STEP_COLUMNS = (
    Column("episode_id", "text", "of the table of episodes"),
    Column("step", "whole", "from 1; a turn refused as malformed was no step, and has the next one's number"),
    Column("ts", "time", "when the step was over"),
    Column("before", "text", "picture that the agent saw, below the export's folder; null when it was not kept"),
    Column("after", "text", "picture after the step; null when it was not kept"),
    Column("actions", "json", "list of the contract's actions as the agent sent them; points are guest pixels"),
    Column("thought", "text", "what the agent said that it wanted; null when it said nothing"),
    Column("metadata", "json", "all that the agent put beside the step; null when it put nothing"),
    Column("results", "json", "list of what the actions returned; a screenshot is null, see `after`"),
    Column("error_code", "text", "why it was refused or broke off; null when it was done"),
    Column("error", "text", "the same in words"),
    Column("mark_done", "flag", "with it the episode was declared over"),
    Column("timings", "seconds_by_name", "seconds of its parts"),
)


def episode_row(trajectory: Trajectory) -> dict[str, Any]:
    """Return the row of an episode, with a value for each of ``EPISODE_COLUMNS``."""
    record = trajectory.record
    asked, outcome, usage = record.request, record.outcome, record.usage or {}
    width, height = trajectory.screen or (None, None)
    return {
        "episode_id": trajectory.id,
        "exp": trajectory.exp,
        "source": trajectory.source,
        **{name: _text(asked.get(name)) for name in ("benchmark", "env", "task", "split", "agent", "model")},
        "env_id": trajectory.env_id,
        "task_id": trajectory.task_id,
        "difficulty": record.difficulty,
        "tags": list(record.tags),
        "task_digest": record.task_digest,
        "prompt": trajectory.prompt,
        "agent_args": _json(asked.get("agent_args") or {}),
        "runner": record.runner,
        "seed": asked.get("seed"),
        "attempt": int(asked.get("attempt") or 0),
        "status": outcome.status,
        "score": float(outcome.score),
        "reward": float(record.reward),
        "blame": outcome.blame,
        "story": outcome.story,
        "verifier": None if record.verifier is None else _json(record.verifier),
        "reason": record.reason,
        "interrupted": record.interrupted,
        "steps": record.steps,
        "screen_width": width,
        "screen_height": height,
        "started_at": _time(record.started_at),
        "finished_at": _time(record.finished_at),
        "duration_s": float(record.duration_s),
        "timings": _seconds(record.timings),
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "cost_usd": None if usage.get("cost_usd") is None else float(usage["cost_usd"]),
        "warnings": list(record.warnings),
    }


def step_row(trajectory: Trajectory, step: TrajectoryStep, place: Callable[[Any], str | None]) -> dict[str, Any]:
    """Return the row of a step, with a value for each of ``STEP_COLUMNS``.

    Args: place: puts a picture (its path, or None) into the export and returns where it lies there.
    """
    error = step.error or {}
    return {
        "episode_id": trajectory.id,
        "step": step.number,
        "ts": _moment(step.ts),
        "before": place(step.before),
        "after": place(step.after),
        "actions": _json(list(step.actions)),
        "thought": step.thought,
        "metadata": _json(step.metadata) if step.metadata else None,
        "results": _json([_without_path(result) for result in step.results]),
        "error_code": error.get("code"),
        "error": error.get("message"),
        "mark_done": step.mark_done,
        "timings": _seconds(step.timings),
    }


def _without_path(result: Any) -> Any:
    """Return a result; a screenshot's is a path of this machine, and the picture is there as ``after``."""
    if isinstance(result, Mapping) and result.get("action") == "screenshot":
        return {**result, "output": None}
    return result


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _seconds(timings: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in sorted(timings.items()) if isinstance(value, int | float)}


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
