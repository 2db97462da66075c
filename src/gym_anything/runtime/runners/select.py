"""The choice of a runner: ``GYM_ANYTHING_RUNNER`` > ``spec.runner`` > detection; never a fake one in silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_anything._util import env_vars
from gym_anything.errors import GymAnythingError, MissingDependency
from gym_anything.runtime.runners.facts import runner_status
from gym_anything.runtime.runners.registry import RUNNERS, known_runners, resolve_runner

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.specs.env_spec import EnvSpec

RUNNER_VARIABLE = env_vars.declare(
    "GYM_ANYTHING_RUNNER",
    str.strip,
    None,
    "Key or locator of the runner to use, whatever the spec says. Unset: the spec's own, else detection.",
    "gym_anything.runtime.runners.select",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which runner was chosen, and why not the others.

    Attributes:
        cls: the runner class.
        name: the key or locator it was named by.
        source: ``argument``, ``environment``, ``file`` or ``detection``.
        reasons: for detection, each other candidate looked at and why it was not taken.
    """

    cls: type[BaseRunner]
    name: str
    source: str
    reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    key: str
    cls: type[BaseRunner]
    priority: int


def choose_runner(spec: EnvSpec, env: Mapping[str, str], *, argument: str | None = None) -> Choice:
    """Choose the runner for a spec.

    Args:
        spec: the environment.
        env: the process environment (``os.environ``).
        argument: a key or locator that was asked for directly; it wins over everything.
    Raises: the errors of ``resolve_runner`` for a named one; MissingDependency when nothing was named and no candidate
        can run it, with each candidate's reason.
    """
    named = [("argument", argument), ("environment", RUNNER_VARIABLE.get(env)), ("file", getattr(spec, "runner", None))]
    for source, name in named:
        if name:
            return Choice(resolve_runner(name), name, source, {})
    return _detect(spec)


def _detect(spec: EnvSpec) -> Choice:
    """Ask the registered runners in order of priority; take the first that is eligible and available."""
    reasons: dict[str, str] = {}
    candidates = _candidates(spec, reasons)
    for candidate in sorted(candidates, key=lambda c: (-c.priority, c.key)):
        status = runner_status(candidate.cls)
        if status.available:
            return Choice(candidate.cls, candidate.key, "detection", reasons)
        reasons[candidate.key] = status.reason or "not available"
    for key, how in RUNNERS.missing_reserved().items():
        reasons[key] = f"not installed: {how}"
    listed = "\n".join(f"  {key}: {reason}" for key, reason in reasons.items())
    raise MissingDependency(
        f"no runner on this machine can run {spec.id!r}; name one by 'runner' in the spec or {RUNNER_VARIABLE.name},"
        f" or make one of these work (gym-anything doctor says how):\n{listed}",
        detail={"reasons": reasons, "fix": "gym-anything doctor"},
    )


def _candidates(spec: EnvSpec, reasons: dict[str, str]) -> list[_Candidate]:
    """Return who may be detected for this spec; the others get their reason."""
    found = []
    for plugin in known_runners():
        try:
            cls = resolve_runner(plugin.key)
            priority = int(cls.platform_priority())
            eligible = bool(cls.autodetect_eligible(spec))
        except GymAnythingError as error:
            reasons[plugin.key] = str(error)
            continue
        except Exception as error:  # noqa: BLE001 - the boundary to foreign code: one broken runner must not end detection
            reasons[plugin.key] = f"it failed when asked: {type(error).__name__}: {error}"
            continue
        if priority <= 0:
            reasons[plugin.key] = "never chosen by itself on this host; name it to use it"
        elif not eligible:
            reasons[plugin.key] = cls.ineligible_reason(spec)
        else:
            found.append(_Candidate(plugin.key, cls, priority))
    return found
