"""One run as the page shows it: its record, its steps with the frames around them, its files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything.benchmark.results import INFO_FILE
from gym_anything.dashboard.confined import NotInside, open_file, open_folder
from gym_anything.dashboard.drawn_actions import Pen
from gym_anything.episode.artifacts import FINAL, POST_VERIFICATION, RECORDING, TRAJECTORY, frame_name

LONGEST_INFO_BYTES = 32 << 20
LONGEST_TRAJECTORY_BYTES = 64 << 20
MOST_FILES = 20_000


def run_story(root: Path, place: Sequence[str]) -> dict[str, Any]:
    """Return one run.

    Args: root: the experiment's folder. place: the folders of model, environment, task and run below it.
    Returns: ``{finished, info, episode, files, notes}``; ``episode`` is None without artifacts, else ``{dir, prompt,
        resolution, steps, first, last, video, verifier, events}``; every file is ``{path, size, v}`` with its path
        below the run's folder. A step's ``before`` is the frame that the agent saw; where that was not kept, the newest
        one before it, and ``steps_earlier`` (else 0) says by how much. ``notes`` say what could not
        be read. JSON of finite numbers.
    Raises: NotInside when there is no such run.
    """
    os.close(open_folder(root, place))
    notes: list[str] = []
    info = _read_info(root, place, notes)
    files = _files(root, place, notes)
    folder = _episode_folder(info, files)
    episode = None
    if folder is not None:
        names = {file["path"].split("/", 1)[1] for file in files if file["path"].startswith(f"{folder}/")}
        episode = _episode(root, [*place, folder], folder, names, notes)
    return {"finished": info is not None, "info": info, "episode": episode, "files": files, "notes": notes}


def _read_info(root: Path, place: Sequence[str], notes: list[str]) -> dict[str, Any] | None:
    try:
        with open_file(root, [*place, INFO_FILE]) as stream:
            info = json.loads(stream.read(LONGEST_INFO_BYTES), parse_constant=str)
    except NotInside:
        return None
    except (OSError, ValueError, RecursionError) as error:
        notes.append(f"{INFO_FILE} cannot be read: {error}")
        return None
    if isinstance(info, dict):
        return info
    notes.append(f"{INFO_FILE} is no record")
    return None


def _files(root: Path, place: Sequence[str], notes: list[str]) -> list[dict[str, Any]]:
    """Return the plain files of a run and of its folders; links are left out."""
    found: list[dict[str, Any]] = []
    top = open_folder(root, place)
    try:
        for folder, _folders, names, fd in os.fwalk(".", dir_fd=top):
            for name in sorted(names):
                try:
                    facts = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue  # a file that was only being written
                if not stat.S_ISREG(facts.st_mode) or not f"{folder}/{name}".isprintable():
                    continue  # what is no text stands in no address
                path = f"{folder}/{name}".removeprefix("./")
                found.append({"path": path, "size": facts.st_size, "v": f"{facts.st_mtime_ns:x}"})
                if len(found) >= MOST_FILES:
                    notes.append(f"only the first {MOST_FILES} files are listed")
                    return found
    except OSError as error:
        notes.append(f"not every file could be listed: {error.strerror}")
    finally:
        os.close(top)
    return sorted(found, key=lambda file: file["path"])


def _episode_folder(info: Mapping[str, Any] | None, files: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the folder of the run's episode: what the record says, else the newest one that has a trajectory."""
    there = sorted(file["path"].split("/")[0] for file in files if file["path"].endswith(f"/{TRAJECTORY}"))
    named = info.get("episode_dir") if info is not None else None
    if isinstance(named, str) and named.strip("/") in there:
        return named.strip("/")
    return there[-1] if there else None


@dataclass
class _Reader:
    """Puts a trajectory's events together."""

    names: set[str]
    pen: Pen = field(default_factory=Pen)
    steps: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    resolution: list[int] | None = None
    prompt: str | None = None
    verifier: Any = None
    shown: str | None = None
    """The newest frame so far."""
    behind: int = 0
    """How many that the agent was shown since then were not kept."""
    last_ts: float | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        kind, ts = event.get("event"), _seconds(event.get("ts"))
        if kind in ("step", "refused"):
            self._step(event, ts)
        else:
            if kind == "reset":
                self.prompt = event.get("prompt") if isinstance(event.get("prompt"), str) else None
            if kind == "session":
                self.resolution = _size(event.get("resolution"))
            if kind == "finalize":
                self.verifier = event.get("verifier")
            self.events.append({"after_step": len(self.steps), **event})
        self.last_ts = ts if ts is not None else self.last_ts

    def _step(self, event: Mapping[str, Any], ts: float | None) -> None:
        actions = event.get("actions")
        raws = actions if isinstance(actions, list) else [actions]
        after = self._frame_of(event)
        timings = event.get("timings")
        step_s = _seconds(timings.get("step_s")) if isinstance(timings, Mapping) else None
        before_s = None
        if ts is not None and self.last_ts is not None:
            before_s = max(0.0, round(ts - self.last_ts - (step_s or 0.0), 3))
        self.steps.append(
            {
                "drawn": [self.pen.draw(raw) for raw in raws],
                "before": self.shown,
                "steps_earlier": self.behind,
                "after": after,
                "before_s": before_s,
                **{key: value for key, value in event.items() if key not in ("event", "frame")},
            }
        )
        if after is not None:
            self.shown, self.behind = after, 0
        elif self.shown is not None and not event.get("error"):  # after a refusal the agent still looks at the same
            self.behind += 1

    def _frame_of(self, event: Mapping[str, Any]) -> str | None:
        """Return the frame after a step, by its number: what older versions wrote of it may be another step's."""
        number = event.get("step")
        if event.get("event") != "step" or not isinstance(number, int):
            return None
        name = frame_name(number)
        return name if name in self.names else None


def _episode(root: Path, place: Sequence[str], folder: str, names: set[str], notes: list[str]) -> dict[str, Any]:
    first = frame_name(0)
    reader = _Reader(names, shown=first if first in names else None)
    for event in _events(root, place, notes):
        reader.take(event)
    last = next((name for name in (FINAL, POST_VERIFICATION) if name in names), reader.shown)
    return {
        "dir": folder,
        "prompt": reader.prompt,
        "resolution": reader.resolution,
        "steps": reader.steps,
        "events": reader.events,
        "verifier": reader.verifier,
        "first": first if first in names else None,
        "last": last,
        "video": RECORDING if RECORDING in names else None,
    }


def _events(root: Path, place: Sequence[str], notes: list[str]) -> Iterator[Mapping[str, Any]]:
    bad = 0
    try:
        with open_file(root, [*place, TRAJECTORY]) as stream:
            content = stream.read(LONGEST_TRAJECTORY_BYTES + 1)
    except (NotInside, OSError) as error:
        notes.append(f"{TRAJECTORY} cannot be read: {error}")
        return
    if len(content) > LONGEST_TRAJECTORY_BYTES:
        content = content[: content.rfind(b"\n", 0, LONGEST_TRAJECTORY_BYTES)]
        notes.append(f"only the first {LONGEST_TRAJECTORY_BYTES >> 20} MiB of {TRAJECTORY} are shown")
    for line in content.splitlines():
        try:
            event = json.loads(line, parse_constant=str)
        except (ValueError, RecursionError):
            bad += 1
            continue
        if isinstance(event, dict):
            yield event
    if bad:
        notes.append(f"{bad} line{'s' if bad > 1 else ''} of {TRAJECTORY} cannot be read")


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _size(value: Any) -> list[int] | None:
    is_size = isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) and n > 0 for n in value)
    return list(value) if is_size else None
