"""What became of one episode: the content of ``info.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.benchmark.phases import RESET
from gym_anything.benchmark.plain_json import plain_json
from gym_anything.episode.outcome import Outcome
from gym_anything.errors import BenchmarkError, Blame

SCHEMA = 1


def utc_now() -> str:
    """Return the present moment as records have it: UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """The result of one episode.

    Attributes:
        request: what was asked (secrets masked, prompts by their digest).
        outcome: passed, failed or broken.
        reason: why it ended: ``max_steps``, ``timeout``, ``Agent Completed``, ``setup_failed`` (before the agent was
            asked) …; None when it never began.
        steps: calls of ``env.step`` with the agent's turns.
        reward: of the last step.
        verifier: the judge's report; None when nothing was judged.
        runner: the world that was used.
        started_at, finished_at: UTC, ISO 8601.
        duration_s: wall-clock seconds from start to verdict.
        timings: seconds of each phase.
        episode_dir: the artifacts, relative to the run's folder; None when there are none.
        task_digest: content of the task's folder.
        agent_saw_task_root: the agent was given the task's folder and could ask the judge.
        agent_result: what an autonomous agent returned.
        interrupted: somebody stopped the episode before it was over.
        warnings: what was tolerated, not enforced, or went wrong without deciding anything.
        difficulty, tags: the task's own.
        usage: what the agent's model took: calls, input_tokens, cached_input_tokens, output_tokens, seconds, cost_usd
            (None when the prices are not known); None for an agent that keeps no accounts.
        judge_usage: the same for the judge's model; None when none was asked.
        world_s: seconds that there was a world, from the beginning of its start to the end of its stop.
        memory: MiB, as far as it could be read: ``episode_mib``, the peak of the process with agent and environment;
            ``world_mib`` of all that it had started beside, the larger of two looks: when the agent begins, and when it
            has ended; ``whole_mib``, the sum. What a world took for a moment between the looks is in neither.
        broke_in: the phase in which it broke (``phases``), for a broken one whose phase is known.
        tries: how often this attempt was begun, with this one: more than 1 when a set-up broke and was tried again.
    """

    request: Mapping[str, Any]
    outcome: Outcome
    reason: str | None = None
    steps: int = 0
    reward: float = 0.0
    verifier: Mapping[str, Any] | None = None
    runner: str | None = None
    started_at: str = ""
    finished_at: str = ""
    duration_s: float = 0.0
    timings: Mapping[str, float] = field(default_factory=dict)
    episode_dir: str | None = None
    task_digest: str | None = None
    agent_saw_task_root: bool = False
    agent_result: Any = None
    interrupted: bool = False
    warnings: tuple[str, ...] = ()
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    usage: Mapping[str, Any] | None = None
    judge_usage: Mapping[str, Any] | None = None
    world_s: float = 0.0
    memory: Mapping[str, float] = field(default_factory=dict)
    broke_in: str | None = None
    tries: int = 1

    @property
    def says_something(self) -> bool:
        """Tell whether it is a result of the agent: neither broken nor cut short."""
        return not self.outcome.is_broken and not self.interrupted

    @property
    def is_broken_setup(self) -> bool:
        """Tell whether the world or the task's set-up broke before the agent had a chance: worth a fresh try.

        What the caller asked for wrongly stays wrong, so it is not.
        """
        if not self.outcome.is_broken or self.outcome.blame == "caller":
            return False
        return self.broke_in == RESET or bool(self.outcome.detail.get("setup_failed"))

    @classmethod
    def broken(
        cls, request: EpisodeRequest, blame: Blame, story: str, detail: Mapping[str, Any] | None = None, **more: Any
    ) -> EpisodeRecord:
        """Return the record of an episode that says nothing about the agent."""
        return cls(request.public(), Outcome.broken(blame, story, detail), **more)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, fit for every reader (``plain_json``)."""
        data = {name: getattr(self, name) for name in self.__slots__}
        data["outcome"] = self.outcome.as_dict()
        whole = {"schema": SCHEMA, **data, "warnings": list(self.warnings), "tags": list(self.tags)}
        return {str(name): value for name, value in plain_json(whole).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EpisodeRecord:
        """Rebuild from ``to_dict``; fields of a newer version are left out.

        Raises: BenchmarkError when it is no such record.
        """
        try:
            known = {name: data[name] for name in cls.__slots__ if name in data}
            known["outcome"] = Outcome.from_dict(data["outcome"])
            known["warnings"] = tuple(data.get("warnings") or ())
            known["tags"] = tuple(map(str, data.get("tags") or ()))
            return cls(**known)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BenchmarkError(f"this is no episode record: {type(error).__name__}: {error}") from error
