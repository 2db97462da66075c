"""Facts about runners, asked safely: a runner that answers nonsense or raises spoils no listing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gym_anything.errors import GymAnythingError, PluginError
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.registry import known_runners, resolve_runner

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner


@dataclass(frozen=True, slots=True)
class RunnerStatus:
    """A runner's own ``doctor_status``, in its normal form."""

    available: bool
    reason: str | None = None
    deps: Mapping[str, Any] = field(default_factory=dict)


def runner_status(cls: type[BaseRunner]) -> RunnerStatus:
    """Ask a runner class whether it can work here; a failing answer counts as "no", with the failure as reason."""
    try:
        answer = cls.doctor_status()
        available, reason, deps = bool(answer["available"]), answer.get("reason"), answer.get("deps") or {}
    except Exception as error:  # noqa: BLE001 - the boundary to foreign code: one runner's doctor must not end the others' check-up
        return RunnerStatus(False, f"its doctor_status() failed: {type(error).__name__}: {error}")
    if not available and not reason:
        reason = "it says it is not available, without a reason"
    return RunnerStatus(available, str(reason) if reason else None, deps if isinstance(deps, Mapping) else {})


def get_runner_compatibility(runner: str | type[BaseRunner]) -> RunnerCompatibility:
    """Return the compatibility row of one runner, by key, locator or class.

    Raises: UnknownPlugin and the other errors of ``resolve_runner``; PluginError when the class answers nonsense.
    """
    cls = resolve_runner(runner)
    name = runner if isinstance(runner, str) else cls.runner_name()
    try:
        row = cls.compatibility()
        if isinstance(row, RunnerCompatibility):
            return row
        return replace(RunnerCompatibility.derived(cls), runner=name).with_row(row)
    except Exception as error:  # the boundary to foreign code
        raise PluginError(f"runner {name!r}: its compatibility() failed: {type(error).__name__}: {error}") from error


def get_runner_compatibility_matrix() -> dict[str, RunnerCompatibility]:
    """Return the rows of all registered runners by key; one that cannot be loaded has its error as a note."""
    rows: dict[str, RunnerCompatibility] = {}
    for plugin in known_runners():
        try:
            rows[plugin.key] = get_runner_compatibility(plugin.key)
        except GymAnythingError as error:
            rows[plugin.key] = RunnerCompatibility(runner=plugin.key, notes=(f"cannot be used: {error}",))
    return rows
