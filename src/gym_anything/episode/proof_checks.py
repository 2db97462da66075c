"""Whether a verdict can be had again, and whether judging leaves everything as it was."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import GymAnythingError

ERROR, WARNING, NOTE = "error", "warning", "note"

# Where tasks keep what they are about. Elsewhere a running system writes all the time.
_GUEST_FOLDERS = ("/home", "/root", "/workspace", "/etc", "/srv", "/opt")
# What desktops and applications write by themselves, at any moment.
_RESTLESS = (".cache", ".local", ".config", ".mozilla", ".dbus", ".gnupg", ".pki", "snap")
_RESTLESS_FILES = (
    "*.log",
    "*.lock",
    "*.pid",
    "*-wal",
    "*-shm",
    "*-journal",
    ".xsession-errors*",
    ".Xauthority*",
    ".ICE*",
)
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen while a task was proved.

    Attributes:
        attempt: which attempt showed it; empty when it is about the task itself.
        check: ``verdict``, ``repeated``, ``touched``, ``solution``, ``near miss``.
        level: ``error`` (the task is unsound), ``warning`` or ``note``.
    """

    attempt: str
    check: str
    level: str
    message: str


def judge_watched(env: GymAnythingEnv, attempt: str) -> tuple[dict[str, Any], list[Finding]]:
    """Judge the present state once and say what that has touched: the task's folders, the world's files.

    Files of the world that change while the judge is at work may be anybody's: the judge is asked a second time, and
    only what changes again is laid at its door (and at the ``post_task`` hook's, which runs before it).
    """
    before = _host_files(env)
    since = _guest_time(env)
    report = env.evaluate()
    findings = [
        Finding(attempt, "touched", ERROR, f"the verifier copied a file into the world: {path}")
        for path in report.get("copied_in") or ()
    ]
    changed = _changed_since(env, since)
    if changed:
        again = _guest_time(env)
        env.evaluate()
        changed &= _changed_since(env, again) or set()
    if changed:
        task = env.task_spec
        exported = task is not None and bool(task.hooks.post_task)
        who = "the post_task hook or the verifier" if exported else "the verifier"
        text = f"{who} changes files of the world each time: {_named(changed)}"
        findings.append(Finding(attempt, "touched", WARNING if exported else ERROR, text))
    if since is None or changed is None:
        text = "the world's files were not looked at: it has no shell with date and find"
        findings.append(Finding(attempt, "touched", NOTE, text))
    spoilt = {path for path, _ in before.items() ^ _host_files(env).items()}
    if spoilt:
        findings.append(Finding(attempt, "touched", ERROR, f"judging changed files of the content: {_named(spoilt)}"))
    return report, findings


def compared(first: Mapping[str, Any], final: Mapping[str, Any], attempt: str) -> list[Finding]:
    """Return what differs between two verdicts on the same state: ``evaluate``'s report and the last step's info."""
    second = final.get("verifier") or {}
    pairs = [("outcome", _status(first), _status(final))]
    pairs += [(key, first.get(key), second.get(key)) for key in ("passed", "score", "subscores")]
    differing = [f"{key} {one!r}, then {two!r}" for key, one, two in pairs if one != two]
    if not differing:
        return []
    text = f"the same state was judged differently the second time: {'; '.join(differing)}"
    return [Finding(attempt, "repeated", ERROR, text)]


def _status(report: Mapping[str, Any]) -> Any:
    return (report.get("outcome") or {}).get("status")


def _host_files(env: GymAnythingEnv) -> dict[str, tuple[int, int]]:
    """Return size and time of change of each file of the task and of the environment's ``utils``."""
    roots = [env.task_root, env.env_root / "utils" if env.env_root is not None else None]
    found: dict[str, tuple[int, int]] = {}
    for root in roots:
        for path in sorted(Path(root).rglob("*")) if root is not None else ():
            try:
                facts = path.lstat()
            except FileNotFoundError:
                continue
            if not path.is_dir():
                found[str(path)] = (facts.st_size, facts.st_mtime_ns)
    return found


def _guest_time(env: GymAnythingEnv) -> str | None:
    """Return the world's own time as ``find`` takes it, or None where that cannot be asked."""
    if env.runner.get_platform_family() != "linux":
        return None
    try:
        said = env.runner.exec_capture("date +%s.%N").strip()
    except GymAnythingError:
        return None
    return said if said.replace(".", "", 1).isdigit() else None


def _changed_since(env: GymAnythingEnv, since: str | None) -> set[str] | None:
    if since is None:
        return None
    try:
        said = env.runner.exec_capture(find_command(since))
    except GymAnythingError:
        return None
    return {line for line in said.splitlines() if line.startswith("/")}


def find_command(since: str) -> str:
    """Return the shell line that lists the files changed since a point in time."""
    folders = " ".join(_GUEST_FOLDERS)
    pruned = " -o ".join(f"-name {shlex.quote(name)}" for name in _RESTLESS)
    skipped = f"\\( {pruned} \\) -prune"
    files = " ".join(f"! -name {shlex.quote(name)}" for name in _RESTLESS_FILES)
    # Folders that do not exist are no fault; their complaint goes nowhere.
    return f"find {folders} -xdev {skipped} -o -type f -newermt @{since} {files} -print 2>/dev/null | head -n 200"


def _named(paths: set[str]) -> str:
    some = sorted(paths)[:_MOST_NAMED]
    return ", ".join(some) + (f" and {len(paths) - len(some)} more" if len(paths) > len(some) else "")
