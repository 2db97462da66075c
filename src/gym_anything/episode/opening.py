"""Making a session: bind specs to a world, and say at once what that world cannot do or enforce."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything._util.secrets import Redactor
from gym_anything.actions.roles import RoleSplitter
from gym_anything.episode.init_input import init_actions
from gym_anything.episode.limits import Limits
from gym_anything.episode.pacing import PACINGS, Pacing, choose_pacing
from gym_anything.episode.session import Session, VerifierOverrides, secret_values
from gym_anything.episode.settling import joined_boxes, leaves_out
from gym_anything.errors import ActionError, SpecInvalid, UnsupportedFeature
from gym_anything.runtime.runners.select import choose_runner
from gym_anything.runtime.runners.spec_check import check_spec
from gym_anything.specs.mounts import with_host_paths
from gym_anything.specs.secret_refs import attach_secrets, load_secrets

if TYPE_CHECKING:
    from gym_anything.actions.model import Box
    from gym_anything.episode.task_choice import ChosenTask
    from gym_anything.runtime.runners.base import BaseRunner
    from gym_anything.specs.env_spec import EnvSpec
    from gym_anything.specs.task_spec import TaskSpec


def open_session(
    env_spec: EnvSpec,
    task_spec: TaskSpec | None,
    *,
    runner: BaseRunner | None,
    runner_name: str | None,
    env_root: Path | None,
    task_root: Path | None,
    task_key: str | None,
    fast_io: bool,
    strict_hooks: bool,
    pacing: str | None,
    settle_ignore: Any,
    warnings: Sequence[str],
) -> Session:
    """Return the session of a new environment; nothing is started.

    Raises: PluginError kinds and MissingDependency for the runner; SpecInvalid for options its class refuses;
        UnsupportedFeature for fast I/O it does not have.
    """
    if task_spec is not None:
        init_actions(task_spec.init.init_pyautogui)
    if runner is None:
        env_spec = _located(env_spec, env_root)
        choice = choose_runner(env_spec, os.environ, argument=runner_name)
        check = check_spec(choice.name, choice.cls, env_spec)
        check.raise_for_errors()
        runner, runner_name = choice.cls(env_spec), choice.name
    else:
        runner_name = runner_name or runner.runner_name()
        check = check_spec(runner_name, type(runner), env_spec)
    if fast_io and not runner.supports_fast_io():
        raise UnsupportedFeature(
            f"{runner_name} does not support fast_io; leave it out, or choose a runner that does "
            "(gym-anything compatibility)",
            detail={"feature": "fast_io", "reason": "no fast path", "fix": "leave fast_io out"},
        )
    if fast_io:
        runner.set_fast_io(True)
    session = Session(
        env_spec=env_spec,
        task_spec=task_spec,
        task_key=task_key or (task_spec.id if task_spec is not None else None),
        env_root=env_root,
        task_root=task_root,
        runner=runner,
        runner_name=runner_name,
        fast_io=fast_io,
        strict_hooks=strict_hooks,
        pacing=_pacing(env_spec, runner, pacing, settle_ignore, fast_io=fast_io),
        redactor=Redactor(secret_values(env_spec)),
        limits=_limits(task_spec),
        roles=_roles(env_spec),
        warnings=list(warnings),
    )
    for unenforced in check.unenforced:
        session.warn(str(unenforced))
    session.env_warnings = tuple(session.warnings)
    runner.set_reporter(session.take_report)
    return session


def bind_task(session: Session, task: ChosenTask) -> None:
    """Bind a session to another task: its spec, key, folder, limits and judge. Called: between episodes.

    Raises: SpecInvalid for what no episode could begin with; the session is as it was then.
    """
    if task.spec is not None:
        init_actions(task.spec.init.init_pyautogui)
    session.task_spec, session.task_root = task.spec, task.root
    session.task_key = task.key or (task.spec.id if task.spec is not None else None)
    session.limits, session.overrides = _limits(task.spec), VerifierOverrides()
    session.warnings[:] = session.env_warnings
    for warning in task.warnings:
        session.warn(warning)


def _located(spec: EnvSpec, env_root: Path | None) -> EnvSpec:
    """Return the spec with its host paths absolute and its secrets attached."""
    if env_root is None:
        return spec
    spec = with_host_paths(spec, env_root)
    return attach_secrets(spec, load_secrets(spec, env_root)) if spec.security.secrets_ref else spec


def _pacing(spec: EnvSpec, runner: BaseRunner, kind: str | None, settle_ignore: Any, *, fast_io: bool) -> Pacing:
    kind = kind or ("fast" if fast_io else "legacy")
    if kind not in PACINGS:
        raise SpecInvalid(f"pacing must be one of {', '.join(PACINGS)}, not {kind!r}", detail={"key": "pacing"})
    if kind == "settle" and not (runner.has_screen() or runner.overrides(["settle"])):
        raise UnsupportedFeature(
            f"{runner.runner_name()} has no screen that could come to rest; choose pacing='legacy' or 'fast'",
            detail={"feature": "pacing", "reason": "no settle", "fix": "pacing='legacy'"},
        )
    cycle_s = spec.step_cycle_ms / 1000 if spec.synchronous else 0.0
    boxes = _settle_ignore(spec, runner, settle_ignore)
    acknowledges = runner.acks_input_delivery()
    return choose_pacing(kind, acknowledges_input=acknowledges, step_cycle_s=cycle_s, ignore=boxes)


def _settle_ignore(spec: EnvSpec, runner: BaseRunner, given: Any) -> tuple[Box, ...]:
    """Return the boxes that every settle leaves out: the caller's, else those of the spec's ``settle_ignore``."""
    try:
        boxes = joined_boxes((), spec.extras.get("settle_ignore", ()) if given is None else given, runner.screen_size())
    except ActionError as error:
        raise SpecInvalid(str(error), detail={"key": "settle_ignore"}) from error
    if boxes and not leaves_out(runner):
        raise UnsupportedFeature(
            f"{runner.runner_name()} cannot leave boxes out of settle; leave settle_ignore out",
            detail={"feature": "settle_ignore", "reason": "its settle takes no boxes", "fix": "no settle_ignore"},
        )
    return boxes


def _limits(task: TaskSpec | None) -> Limits:
    return Limits() if task is None else Limits(task.init.max_steps, float(task.init.timeout_sec))


def _roles(spec: EnvSpec) -> RoleSplitter | None:
    agents = spec.multi_agent
    if agents is None or not agents.roles:
        return None
    return RoleSplitter(agents.roles, turn_based=agents.turn_based)
