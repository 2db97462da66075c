"""One environment, checked as far as that goes without starting it: spec, task, runner, files beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.errors import GymAnythingError, MissingExtra, PluginImportFailed
from gym_anything.runtime.runners.select import RUNNER_VARIABLE, Choice, choose_runner
from gym_anything.runtime.runners.spec_check import SpecCheck, check_spec
from gym_anything.specs.beside import Missing, missing_beside_env, missing_beside_task
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.loading import LoadedEnv, LoadedTask, load_env, load_task, scan_tasks
from gym_anything.specs.secret_refs import load_secrets
from gym_anything.specs.spec_warning import SpecWarning


@dataclass(frozen=True, slots=True)
class RunnerCheck:
    """What the runner that would be used says.

    Attributes:
        name: key or locator; None when none can be named here.
        source: who named it: ``argument``, ``environment``, ``file`` or ``detection``.
        note: why it could not be asked; empty when it was.
        check: its answer, or None when it could not be asked.
    """

    name: str | None
    source: str | None
    note: str
    check: SpecCheck | None


@dataclass(frozen=True, slots=True)
class EnvCheck:
    """The answer of ``gym-anything validate``.

    Attributes:
        env: the loaded environment.
        tasks: the tasks that loaded: all of them, or the one asked for.
        problems: what forbids a start: broken tasks, wrong runner options, an unknown runner, unusable secrets.
        warnings: what is odd inside the specs.
        missing: what they name and no file is there for.
        runner: what the runner says.
    """

    env: LoadedEnv
    tasks: tuple[LoadedTask, ...]
    problems: tuple[GymAnythingError, ...]
    warnings: tuple[SpecWarning, ...]
    missing: tuple[Missing, ...]
    runner: RunnerCheck

    @property
    def option_errors(self) -> tuple[str, ...]:
        """Return what is wrong with the runner's options."""
        return self.runner.check.errors if self.runner.check is not None else ()

    @property
    def ok(self) -> bool:
        """Nothing forbids a start, as far as the specs go."""
        return not self.problems and not self.option_errors

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form for ``--json``; no password is in it."""
        check = self.runner.check
        return {
            "ok": self.ok,
            "file": str(self.env.file),
            "spec": self.env.spec.public_dict(),
            "tasks": [task.task_id for task in self.tasks],
            "problems": [problem.to_wire() for problem in self.problems],
            "option_errors": list(self.option_errors),
            "warnings": [warning.as_dict() for warning in self.warnings],
            "missing": [missing.as_dict() for missing in self.missing],
            "runner": {"name": self.runner.name, "source": self.runner.source, "note": self.runner.note},
            "unenforced": [{"field": u.field, "reason": u.reason} for u in (check.unenforced if check else ())],
        }


def check_env(env_dir: str | Path, task_id: str | None = None, runner: str | None = None) -> EnvCheck:
    """Load an environment and everything that can be known about it without starting it.

    Args:
        env_dir: the environment's folder or file.
        task_id: check this task only; None: all.
        runner: a runner to ask instead of the one that would be chosen.
    Raises: SpecError when the environment itself, or the task asked for, does not load.
    """
    env = load_env(env_dir)
    problems: list[GymAnythingError] = []
    tasks: list[LoadedTask] = []
    if task_id is not None:
        tasks.append(load_task(env.root, task_id))
    else:
        for entry in scan_tasks(env.root):
            tasks += [entry.task] if entry.task is not None else []
            problems += [entry.error] if entry.error is not None else []
    missing = missing_beside_env(env)
    if not any(m.kind == "secrets" for m in missing):
        try:
            load_secrets(env.spec, env.root)
        except GymAnythingError as error:
            problems.append(error)
    missing += [m for task in tasks for m in missing_beside_task(env, task)]
    warnings = (*env.warnings, *(w for task in tasks for w in task.warnings))
    asked = _ask_runner(env.spec, runner, problems)
    return EnvCheck(env, tuple(tasks), tuple(problems), warnings, tuple(missing), asked)


def _ask_runner(spec: EnvSpec, runner: str | None, problems: list[GymAnythingError]) -> RunnerCheck:
    """Ask the runner that would be used; one that is merely not installed here is a note, an unknown one a problem."""
    named = runner or RUNNER_VARIABLE.get() or spec.runner
    try:
        choice: Choice = choose_runner(spec, os.environ, argument=runner)
    except (MissingExtra, PluginImportFailed) as error:
        return RunnerCheck(named, None, str(error), None)
    except GymAnythingError as error:
        if named:
            problems.append(error)
        return RunnerCheck(named, None, str(error), None)
    return RunnerCheck(choice.name, choice.source, "", check_spec(choice.name, choice.cls, spec))
