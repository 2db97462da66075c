"""The folder of an episode: its trajectory, its frames, its summary. Nothing secret is ever written there."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from gym_anything._util.atomic_write import write_bytes
from gym_anything._util.secrets import Redactor
from gym_anything.errors import HostError

TRAJECTORY = "traj.jsonl"
SUMMARY = "summary.json"
FINAL = "final.png"
POST_VERIFICATION = "post_verification.png"
RECORDING = "recording.mp4"
VERIFIER_OUTPUT = "verifier_output.txt"


class EpisodeFolder:
    """One episode's artifacts on disk. Not thread-safe, save for ``path_of_frame``."""

    def __init__(self, output_dir: Path, redactor: Redactor) -> None:
        """Make ``episode_<time>_<uuid>`` under ``output_dir``. Raises: HostError when it cannot be made."""
        name = f"episode_{datetime.now():%Y%m%d-%H%M%S}_{uuid.uuid4().hex[:12]}"
        self.path = (output_dir / name).absolute()
        try:
            self.path.mkdir(parents=True)
        except OSError as error:
            fix = "set recording.output_dir to a folder that can be written"
            raise HostError(
                f"cannot make the episode's folder {self.path}: {error}; {fix}", detail={"fix": fix}
            ) from error
        self._redactor = redactor
        self._trajectory: TextIOWrapper | None = (self.path / TRAJECTORY).open("a", encoding="utf-8")

    def append(self, event: str, fields: Mapping[str, Any]) -> None:
        """Append one event to the trajectory; after ``close`` to the closed file, too."""
        record = {"event": event, "ts": round(time.time(), 6), **fields}
        line = json.dumps(self._redactor.json(plain(record)), ensure_ascii=False, allow_nan=False) + "\n"
        if self._trajectory is None:
            with (self.path / TRAJECTORY).open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(line)
            return
        self._trajectory.write(line.encode("utf-8", "backslashreplace").decode("utf-8"))
        self._trajectory.flush()

    def continue_from(self, other: EpisodeFolder) -> None:
        """Begin with the trajectory that another episode of the same specs has so far. Called: before any event."""
        assert self._trajectory is not None
        with (other.path / TRAJECTORY).open(encoding="utf-8") as stream:
            shutil.copyfileobj(stream, self._trajectory)
        self._trajectory.flush()

    def take_frame(self, picture: Path) -> Path:
        """Have another episode's picture under its own name here, by the same blocks where the disk can."""
        target = self.path / picture.name
        try:
            os.link(picture, target)
        except OSError:  # another file system, or one without links
            shutil.copyfile(picture, target)
        return target

    def events(self, kind: str) -> Iterator[dict[str, Any]]:
        """Read back the trajectory's events of one kind."""
        with (self.path / TRAJECTORY).open(encoding="utf-8") as stream:
            for line in stream:
                record = json.loads(line)
                if record.get("event") == kind:
                    yield record

    def path_of_frame(self, number: int) -> Path:
        """Return where frame ``number`` goes: 0 is the first observation, n the one after step n."""
        return self.path / frame_name(number)

    def write_json(self, name: str, data: Mapping[str, Any]) -> Path:
        """Write a JSON artifact whole."""
        text = json.dumps(self._redactor.json(plain(data)), ensure_ascii=False, allow_nan=False, indent=2)
        target = self.path / name
        write_bytes(target, (text + "\n").encode("utf-8", "backslashreplace"))
        return target

    def close(self) -> None:
        """Close the trajectory. Idempotent."""
        trajectory, self._trajectory = self._trajectory, None
        if trajectory is not None:
            trajectory.close()


def frame_name(number: int) -> str:
    """Return the file of a frame: 0 is the first observation, n the one after step n."""
    return f"frame_{number:05d}.png"


def plain(value: Any) -> Any:
    """Return ``value`` as JSON data: references instead of pixels, text instead of what JSON does not know."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    shape = getattr(value, "shape", None)
    if shape is not None and shape != ():
        return f"<array {tuple(shape)}>"
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return plain(value.item())
    return f"<{type(value).__name__}>"
