"""Set-up stages: hooks and scripts that must succeed for an episode to count."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gym_anything._util import env_vars
from gym_anything._util.logs import tail
from gym_anything.episode.episode import Episode, FailedSetup
from gym_anything.episode.session import Session
from gym_anything.errors import Aborted, DeadlineExceeded, GuestCommandFailed, GymAnythingError, WorldError, WorldLost

HOOK_TIMEOUT = env_vars.declare(
    "GYM_ANYTHING_HOOK_TIMEOUT",
    env_vars.not_negative,
    1800.0,
    "Seconds that an environment's hook (or a post_task hook) may take. Half an hour: hooks install software.",
    "episode",
)
_TAIL_LINES = 20


def run_hook(
    session: Session, episode: Episode, stage: str, command: str | None, *, timeout: float | None = None
) -> bool:
    """Run one hook and note its failure; returns whether it succeeded (True without a command).

    Raises: GuestCommandFailed with ``strict_hooks``; WorldLost, Aborted.
    """
    if not command:
        return True
    limit = HOOK_TIMEOUT.get() if timeout is None else timeout

    return run_stage(session, episode, stage, lambda: call_hook(session, stage, command, limit))


def call_hook(session: Session, stage: str, command: str, timeout: float) -> int:
    """Run a hook and return its exit code. Raises: WorldError for a runner that returns something else."""
    code = session.runner.run_hook(command, stage=stage, timeout=timeout)
    if isinstance(code, bool) or not isinstance(code, int):
        raise WorldError(f"{session.runner_name}.run_hook({stage}) returned {code!r:.80}, not an exit code")
    return code


def run_stage(session: Session, episode: Episode, stage: str, call: Callable[[], object]) -> bool:
    """Run one set-up stage; an exit code other than 0, or a failed guest command, is a failure. See ``run_hook``."""
    session.report("stage", stage=stage)
    began = time.monotonic()
    exit_code: int | None = None
    failure: GymAnythingError | None = None
    try:
        result = call()
        exit_code = result if isinstance(result, int) and not isinstance(result, bool) else 0
    except (WorldLost, Aborted):
        raise
    except (GuestCommandFailed, DeadlineExceeded) as error:
        failure = error
        exit_code = error.detail.get("exit_code") if isinstance(error.detail.get("exit_code"), int) else None
    finally:
        episode.add_time(f"{stage}_s", time.monotonic() - began)
    if failure is None and exit_code == 0:
        return True
    log_tail = session.redactor.text(_log_tail(session, stage) or (str(failure) if failure is not None else ""))
    failed = FailedSetup(stage, exit_code, log_tail)
    episode.folder.append("setup_failed", {"stage": stage, "exit_code": exit_code, "log_tail": log_tail})
    session.warn(failed.story())
    if session.strict_hooks:
        raise GuestCommandFailed(
            failed.story(), detail={"stage": stage, "exit_code": exit_code, "log_tail": log_tail}
        ) from failure
    episode.failed_setup.append(failed)
    return False


def _log_tail(session: Session, stage: str) -> str:
    """Return the end of the stage's log in the guest, or nothing when it cannot be had."""
    try:
        with tempfile.TemporaryDirectory(prefix="gym-anything-log-") as folder:
            target = Path(folder) / "hook.log"
            session.runner.copy_from(session.runner.hook_log_paths([stage])[0], target)
            return tail(target, _TAIL_LINES)
    except (GymAnythingError, OSError):
        return ""  # a world without files, or a hook that wrote nothing: the exit code is all there is
