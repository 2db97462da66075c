"""``--format parquet``: ``episodes.parquet``, ``steps.parquet`` and the pictures that they name."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from gym_anything.data.arrow import ParquetFile, arrow_schema, read_rows
from gym_anything.data.columns import EPISODE_COLUMNS, STEP_COLUMNS, episode_row, step_row
from gym_anything.data.output_folder import PictureStore
from gym_anything.data.trajectory import Trajectory

EPISODES, STEPS = "episodes.parquet", "steps.parquet"
_GROUP_ROWS = 5000


class TableWriter:
    """Writes trajectories as tables; a context manager."""

    def __init__(self, folder: Path) -> None:
        """Open both files. Raises: MissingExtra."""
        self.pictures = PictureStore(folder)
        self._episodes: list[dict[str, Any]] = []
        self._steps: list[dict[str, Any]] = []
        with ExitStack() as stack:
            self._episode_file = stack.enter_context(ParquetFile(folder / EPISODES, arrow_schema(EPISODE_COLUMNS)))
            self._step_file = stack.enter_context(ParquetFile(folder / STEPS, arrow_schema(STEP_COLUMNS)))
            self._stack = stack.pop_all()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._stack:
            if kind is None:
                self._flush()

    def add(self, trajectory: Trajectory) -> str | None:
        """Write one; returns why it cannot be in this format: None, it always can."""
        self._episodes.append(episode_row(trajectory))
        self._steps += [step_row(trajectory, step, self.pictures.place) for step in trajectory.steps]
        self.pictures.forget()
        if len(self._steps) >= _GROUP_ROWS or len(self._episodes) >= _GROUP_ROWS:
            self._flush()
        return None

    def _flush(self) -> None:
        self._episode_file.write(self._episodes)
        self._step_file.write(self._steps)
        self._episodes, self._steps = [], []


def read_episodes(folder: Path) -> list[dict[str, Any]]:
    """Read back the table of episodes of an export. Raises: as ``arrow.read_rows``."""
    return read_rows(folder / EPISODES, EPISODE_COLUMNS)


def read_steps(folder: Path) -> list[dict[str, Any]]:
    """Read back the table of steps of an export. Raises: as ``arrow.read_rows``."""
    return read_rows(folder / STEPS, STEP_COLUMNS)
