"""``--format sft``: ``train.jsonl``, one conversation a line, and the pictures that it names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from gym_anything.data.chat import VERSION
from gym_anything.data.examples import example_of, facts_of
from gym_anything.data.output_folder import PictureStore
from gym_anything.data.trajectory import Trajectory
from gym_anything.errors import BenchmarkError

TRAIN = "train.jsonl"


class SftWriter:
    """Writes trajectories as conversations; a context manager."""

    def __init__(self, folder: Path, *, allow_missing: bool = False) -> None:
        """Args: allow_missing: see ``example_of``."""
        self.pictures = PictureStore(folder)
        self._allow_missing = allow_missing
        self._stream = (folder / TRAIN).open("w", encoding="utf-8", errors="backslashreplace")

    def __enter__(self) -> SftWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stream.close()

    def add(self, trajectory: Trajectory) -> str | None:
        """Write one; returns why it cannot be in this format, or None."""
        talk = example_of(trajectory, allow_missing=self._allow_missing)
        if isinstance(talk, str):
            return talk
        images = [self.pictures.place(picture) for picture in talk.pictures]
        self.pictures.forget()
        line = {"messages": talk.messages, "images": images, **facts_of(trajectory, talk)}
        self._stream.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        return None


def read_sft(folder: Path) -> Iterator[dict[str, Any]]:
    """Read back the lines of an export. Raises: BenchmarkError for another version, or what is no such file."""
    path = folder / TRAIN
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                example = json.loads(line)
                if not isinstance(example, dict) or example.get("schema") != VERSION:
                    raise BenchmarkError(f"line {number} of {path} is not of schema {VERSION}, which this reads")
                yield example
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"{path} cannot be read: {error}", detail={"path": str(path)}) from error
