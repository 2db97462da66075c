"""Logs of the guest in the episode's folder, for the person who has to find out why."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from gym_anything.episode.episode import Episode
from gym_anything.episode.session import Session
from gym_anything.errors import Aborted, GymAnythingError, WorldLost

FOLDER = "diagnostics"
_STAGES = ["pre_start", "post_start", "reset", "pre_task", "post_task"]
_MOST_BYTES = 4 * 1024 * 1024


def collect(session: Session, episode: Episode) -> None:
    """Copy the hooks' logs out of the guest, without secrets; those that are not there are left out.

    Called: at the end of an episode; does something when the spec asks for diagnostics or a set-up failed.
    Raises: WorldLost, Aborted.
    """
    if not (session.env_spec.diagnostics or episode.failed_setup):
        return
    target = episode.folder.path / FOLDER
    for guest_path in dict.fromkeys(session.runner.hook_log_paths(_STAGES)):
        text = _log(session, guest_path)
        if text:
            target.mkdir(exist_ok=True)
            (target / _name(guest_path)).write_text(session.redactor.text(text), encoding="utf-8", errors="replace")


def _log(session: Session, guest_path: str) -> str:
    with tempfile.TemporaryDirectory(prefix="gym-anything-log-") as folder:
        copied = Path(folder) / "log"
        try:
            session.runner.copy_from(guest_path, copied)
            with copied.open("rb") as stream:
                return stream.read(_MOST_BYTES).decode("utf-8", "replace")
        except (WorldLost, Aborted):
            raise
        except (GymAnythingError, OSError):
            return ""  # no such hook, or a world without files


def _name(guest_path: str) -> str:
    return PureWindowsPath(guest_path).name if "\\" in guest_path else PurePosixPath(guest_path).name
