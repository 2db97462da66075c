"""What one episode of a benchmark is asked to be: plain data that travels to whoever plays it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gym_anything._util.secrets import MASK
from gym_anything.errors import BadWire


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
    """One episode to play.

    Attributes:
        env_dir: absolute folder of the environment.
        task: the task's folder name.
        env: the environment's folder name.
        benchmark: its name, for reports; empty when the environment stands alone.
        split, surface: where the task came from, for reports.
        agent: key or locator.
        agent_args: the agent's own settings; may hold secrets and prompts, so only ``public`` is ever written down.
        model: name of the model or agent variant; the results folder of that name.
        seed: what the world's randomness follows; None is free.
        attempt: 0 for the first run of this task with this seed, then 1, 2 …
        max_steps, time_limit_s: limits of the episode; None takes the task's own.
        deadline_s: hard bound on everything from start to clean-up, watched from outside; None: only the bounds of each
            phase.
        step_deadline_s: bound on one answer of the agent (the episode then ends and is judged), and on doing its
            actions beyond the waits that they ask for (the episode is then broken); None: generous bounds.
        verifier_deadline_s: bound on the verdict; None: generous.
        runner: key or locator of the world; None lets the environment and this machine decide.
        fast_io, pacing, use_cache, cache_level, use_savevm, strict_hooks: as for ``from_config`` and ``reset``.
        overrides: laid over the environment's file.
        timing_jsonl: absolute path of a file that gets a line with timings for every step; None: none.
        verbose, debug: told to the agent.
    """

    env_dir: str
    task: str
    env: str
    benchmark: str = ""
    split: str = "all"
    surface: str = "raw"
    agent: str = "noop"
    agent_args: Mapping[str, Any] = field(default_factory=dict)
    model: str = "noop"
    seed: int | None = None
    attempt: int = 0
    max_steps: int | None = None
    time_limit_s: float | None = None
    deadline_s: float | None = None
    step_deadline_s: float | None = None
    verifier_deadline_s: float | None = None
    runner: str | None = None
    fast_io: bool = False
    pacing: str | None = None
    use_cache: bool = False
    cache_level: str = "default"
    use_savevm: bool = False
    strict_hooks: bool = False
    overrides: Mapping[str, Any] = field(default_factory=dict)
    timing_jsonl: str | None = None
    verbose: bool = False
    debug: bool = False

    @property
    def task_root(self) -> Path:
        """The task's folder."""
        return Path(self.env_dir) / "tasks" / self.task

    @property
    def label(self) -> str:
        """Short name for people: ``env/task`` and the attempt when there are several."""
        return f"{self.env}/{self.task}" + (f" #{self.attempt + 1}" if self.attempt else "")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-serialisable data for ``from_dict``; may hold secrets."""
        return {**asdict(self), "agent_args": dict(self.agent_args), "overrides": dict(self.overrides)}

    def public(self) -> dict[str, Any]:
        """Return what results may show: no secret and no prompt among the agent's arguments (``masked``)."""
        return {**self.to_dict(), "agent_args": masked(self.agent_args)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EpisodeRequest:
        """Rebuild from ``to_dict``. Raises: BadWire for missing or unknown fields."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise BadWire(f"an episode request has no field {unknown[0]!r}")
        try:
            return cls(**data)
        except TypeError as error:
            raise BadWire(f"an episode request is incomplete: {error}") from error


_USER_INFO = re.compile(r"\b([A-Za-z][\w+.-]*://)[^/?#\s]*@")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PROMPT_WORDS = ("instruction", "instructions", "prompt", "prompts")
_SECRET_WORDS = ("key", "token", "secret", "password", "passwd", "credential", "authorization")


def looks_secret(name: str) -> bool:
    """Tell whether an argument of this name is likely to hold a secret (``api_key``, ``hf_token`` …)."""
    words = name.lower().replace("-", "_").split("_")
    return any(word in words or name.lower().endswith(word) for word in _SECRET_WORDS)


def holds_prompt(name: str) -> bool:
    """Tell whether an argument of this name is likely to hold a prompt (``instructions``, ``system_prompt`` …)."""
    return name.lower().replace("-", "_").split("_")[-1] in _PROMPT_WORDS


def masked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return agent arguments as they may be shown, on every level. What is masked already stays as it is.

    Values that look like secrets are replaced, URLs lose user and password, and of a prompt there is only its digest:
    ``sha256:`` and hexadecimal digits, so that runs with different prompts are still told apart.
    """
    return {key: _shown(str(key), value) for key, value in arguments.items()}


def _shown(name: str, value: Any) -> Any:
    if holds_prompt(name) and value and isinstance(value, str | Mapping | list | tuple):
        return _prompt_digest(value)
    if isinstance(value, Mapping):
        return masked(value)
    if isinstance(value, list | tuple):
        return [_shown(name, item) for item in value]
    if not isinstance(value, str):
        return value
    return MASK if looks_secret(name) else _USER_INFO.sub(r"\1", value)


def _prompt_digest(prompt: Any) -> str:
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, default=str)
    if _DIGEST.fullmatch(text):
        return text
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
