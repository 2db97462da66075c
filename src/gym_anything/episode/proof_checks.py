"""Whether a verdict can be had again, and whether judging leaves everything as it was."""

from __future__ import annotations

import base64
import gzip
import shlex
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything.episode.env import GymAnythingEnv
from gym_anything.errors import GymAnythingError

ERROR, WARNING, NOTE = "error", "warning", "note"

# Where tasks keep what they are about. Elsewhere a running system writes all the time.
_GUEST_FOLDERS = ("/home", "/root", "/workspace", "/etc", "/srv", "/opt")
# What desktops and applications write by themselves, at any moment.
_RESTLESS = (".cache", ".local", ".config", ".mozilla", ".dbus", ".gnupg", ".pki", "snap", "__pycache__")
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

    Files of the world that change while the judge is at work may be anybody's. When some do the judge is asked a second
    time: what changes again is laid at its door (and at the ``post_task`` hook's, which runs before it). What changes
    only once may be its doing, too (a file written where there is none, one that is deleted): a warning.
    """
    before = _host_files(env)
    at_first = _guest_files(env)
    report = env.evaluate()
    findings = [
        Finding(attempt, "touched", ERROR, f"the verifier copied a file into the world: {path}")
        for path in report.get("copied_in") or ()
    ]
    judged = _guest_files(env) if at_first is not None else None
    if at_first is None or judged is None:
        text = "the world's files were not looked at: it has no shell with GNU find, gzip and base64"
        findings.append(Finding(attempt, "touched", NOTE, text))
    elif at_first != judged:
        env.evaluate()
        findings += _blamed(env, attempt, changed(at_first, judged), changed(judged, _guest_files(env) or judged))
    spoilt = {path for path, _ in before.items() ^ _host_files(env).items()}
    if spoilt:
        findings.append(Finding(attempt, "touched", ERROR, f"judging changed files of the content: {_named(spoilt)}"))
    return report, findings


def _blamed(env: GymAnythingEnv, attempt: str, first: set[str], second: set[str]) -> list[Finding]:
    """Return what to say of the files that changed while the judge was asked twice."""
    task = env.task_spec
    exported = task is not None and bool(task.hooks.post_task)
    who = "the post_task hook or the verifier" if exported else "the verifier"
    findings = []
    if each_time := first & second:
        text = f"{who} changes files of the world each time: {_named(each_time)}"
        findings.append(Finding(attempt, "touched", WARNING if exported else ERROR, text))
    if once := first ^ second:
        text = f"while {who} was at work files of the world changed once; by it or by something else: {_named(once)}"
        findings.append(Finding(attempt, "touched", WARNING, text))
    return findings


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


def _guest_files(env: GymAnythingEnv) -> dict[str, str] | None:
    """Return the world's files as ``read_listing`` does, or None where they cannot be listed."""
    if env.runner.get_platform_family() != "linux":
        return None
    try:
        return read_listing(env.runner.exec_capture(listing_command()))
    except GymAnythingError:
        return None


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the paths that were made, deleted, renamed, written or given other rights between two listings."""
    return {path for path, _ in before.items() ^ after.items()}


def listing_command(folders: Sequence[str] = _GUEST_FOLDERS) -> str:
    """Return the shell line that lists files for ``read_listing``; it prints nothing where there is no GNU ``find``.

    Of a folder only being there and its rights count: what lies in it is listed, and what is not may come and go.
    """
    places = " ".join(map(shlex.quote, folders))
    pruned = " -o ".join(f"-name {shlex.quote(name)}" for name in _RESTLESS)
    files = " ".join(f"! -name {shlex.quote(name)}" for name in _RESTLESS_FILES)
    shown = f"-type d -printf 'd %m\\t%p\\n' -o {files} -printf '%y %m %s %C@\\t%p\\n'"
    # Folders that do not exist are no fault; their complaint goes nowhere. Packed: a world has many files, and what is
    # cut short on its way does not unpack.
    find = f"find {places} -xdev \\( {pruned} \\) -prune -o {shown} 2>/dev/null"
    return f"find / -maxdepth 0 -printf '' 2>/dev/null && {find} | gzip -c | base64 -w 0"


def read_listing(said: str) -> dict[str, str] | None:
    """Return path -> kind, rights and, of what is no folder, size and time of change; None for what is no listing."""
    try:
        packed = base64.b64decode(said.strip().rpartition("\n")[2], validate=True)
        text = gzip.decompress(packed).decode("utf-8", "surrogateescape") if packed else ""
    except (ValueError, OSError, EOFError, zlib.error):
        return None
    pairs = (line.split("\t", 1) for line in text.split("\n") if "\t" in line)
    return {path: facts for facts, path in pairs} or None


def _named(paths: set[str]) -> str:
    some = sorted(paths)[:_MOST_NAMED]
    return ", ".join(some) + (f" and {len(paths) - len(some)} more" if len(paths) > len(some) else "")
