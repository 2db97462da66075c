"""What one environment holds from its making to its end: specs, world, settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything._util import env_vars
from gym_anything._util.secrets import Redactor
from gym_anything.actions.roles import RoleSplitter
from gym_anything.episode.limits import Limits
from gym_anything.episode.pacing import Pacing
from gym_anything.errors import SpecInvalid
from gym_anything.verification.cancellation import Cancellation

if TYPE_CHECKING:
    from gym_anything.episode.warming import WarmWorld
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec


@dataclass
class VerifierOverrides:
    """How the caller wants to be judged instead of how the task says."""

    mode: str | None = None
    timeout_sec: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        overrides: Mapping[str, Any] | None,
        *,
        mode: str | None,
        timeout_sec: float | None,
        environment: Mapping[str, str] | None,
    ) -> VerifierOverrides:
        """Build from a dict and keywords; keys in capitals are environment variables. Raises: SpecInvalid."""
        variables = dict(environment or {})
        known: dict[str, Any] = {}
        for key, value in (overrides or {}).items():
            if key in ("mode", "timeout_sec"):
                known[key] = value
            elif key == "environment" and isinstance(value, Mapping):
                variables.update(value)
            elif key.isupper():
                variables[key] = str(value)
            else:
                raise SpecInvalid(
                    f"unknown verifier override {key!r}; known: mode, timeout_sec, environment, VARIABLES",
                    detail={"key": key},
                )
        limit = timeout_sec if timeout_sec is not None else known.get("timeout_sec")
        if limit is not None and not (isinstance(limit, int | float) and limit > 0):
            raise SpecInvalid(f"timeout_sec must be a positive number, not {limit!r}", detail={"key": "timeout_sec"})
        return cls(mode or known.get("mode"), limit, variables)


@dataclass
class Session:
    """One environment: what does not change from episode to episode.

    Attributes:
        task_key: the task's folder name, else its id; None without a task.
        redactor: scrubs secrets and passwords from everything that is written.
        world_is_up: ``start`` was entered and ``stop`` has not returned since.
        warm: the world is up and waits for its episode.
        warnings: what was tolerated or cannot be enforced. env_warnings: those that hold for every task.
    """

    env_spec: EnvSpec
    task_spec: TaskSpec | None
    task_key: str | None
    env_root: Path | None
    task_root: Path | None
    runner: BaseRunner
    runner_name: str
    fast_io: bool
    strict_hooks: bool
    pacing: Pacing
    redactor: Redactor
    limits: Limits
    roles: RoleSplitter | None = None
    overrides: VerifierOverrides = field(default_factory=VerifierOverrides)
    cancellation: Cancellation = field(default_factory=Cancellation)
    warnings: list[str] = field(default_factory=list)
    env_warnings: tuple[str, ...] = ()
    reporter: Any = None
    world_is_up: bool = False
    warm: WarmWorld | None = None

    def report(self, event: str, **facts: Any) -> None:
        """Tell the reporter, if there is a callable one; one that raises is told nothing more."""
        reporter = self.reporter
        if not callable(reporter):
            return
        try:
            reporter(event, **facts)
        except Exception as error:  # noqa: BLE001 - boundary: reports are for people, no episode depends on them
            self.reporter = None
            self.warnings.append(f"the reporter raised {type(error).__name__}: {error}; it is told nothing more")

    def take_report(self, event: str, **facts: Any) -> None:
        """Take what the runner reports: a note becomes a warning of the episode, all else goes to the reporter."""
        if event == "note":
            self.warn(str(facts.get("text", "")))
        else:
            self.report(event, **facts)

    def warn(self, text: str) -> str:
        """Keep a warning for the caller, scrubbed, once; returns it."""
        text = self.redactor.text(text)
        if text not in self.warnings:
            self.warnings.append(text)
        self.report("warning", message=text)
        return text

    def secret_values(self) -> list[str]:
        """Return every value that must not be written anywhere."""
        return secret_values(self.env_spec)


def secret_values(spec: EnvSpec) -> list[str]:
    """Return the secrets that were attached to a spec, and those of our own variables (keys for vision models).

    Account passwords are guest conventions that everybody knows (``password123``): scrubbing them from text would hide
    ordinary words, and they are never written by themselves (``public_dict``).
    """
    return [*(value for value in spec.security.resolved_env.values() if value), *env_vars.secret_values()]
