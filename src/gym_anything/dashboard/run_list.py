"""All runs of some experiments, as the page's list: made again only when something has changed."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from gym_anything.benchmark.results_reading import RESULTS_ROOT, experiments, find_experiment, read_experiment
from gym_anything.dashboard.run_row import Cells, encoded, finished_cells, unfinished_cells
from gym_anything.errors import BenchmarkError, SettingInvalid


def chosen_experiments(names: Sequence[str], root: Path = RESULTS_ROOT) -> dict[str, Path]:
    """Return name to folder of the experiments asked for; none asked for is all of them.

    Args: names: below ``root``, or folders anywhere.
    Raises: BenchmarkError for one that is not there; SettingInvalid when there is none, or two have one name.
    """
    found: dict[str, Path] = {}
    for name in names or experiments(root):
        folder = find_experiment(name, root)
        if found.setdefault(folder.name, folder) != folder:
            raise SettingInvalid(
                f"two of the experiments are called {folder.name!r}: view one of them", detail={"setting": "EXP"}
            )
    if not found:
        fix = "gym-anything benchmark all --exp NAME"
        raise SettingInvalid(f"there is no experiment in {root}", detail={"setting": "EXP", "fix": fix})
    return found


@dataclass(frozen=True, slots=True)
class Listing:
    """The list as it is sent.

    Attributes:
        content: JSON of ``run_row.encoded``, with ``problems``: experiments that could not be read, and why.
        tag: changes when the content does.
    """

    content: bytes
    tag: str


@dataclass
class RunList:
    """The runs of some experiments. Thread-safe.

    Attributes:
        experiments: name to folder.
    """

    experiments: Mapping[str, Path]
    _cells: list[Cells] | None = None
    _problems: list[str] = field(default_factory=list)
    _listing: Listing = field(default_factory=lambda: Listing(b"", ""))
    _made_at: float = -math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def listing(self, *, max_age_s: float = 0.0) -> Listing:
        """Return the list of what is on disk. Blocks: some tenths of a second for ten thousand runs that are known.

        Args: max_age_s: a list that was made so many seconds ago will do.
        """
        with self._lock:
            if time.monotonic() - self._made_at < max_age_s:
                return self._listing
            cells: list[Cells] = []
            problems: list[str] = []
            for name, folder in self.experiments.items():
                try:
                    cells += _read(name, folder)
                except (
                    BenchmarkError,
                    OSError,
                    sqlite3.Error,
                ) as error:  # removed while it is looked at: the page says so
                    problems.append(f"{name}: {error}")
            if cells != self._cells or problems != self._problems:
                self._cells, self._problems = cells, problems
                document = {**encoded(cells), "problems": problems}
                content = json.dumps(document, separators=(",", ":")).encode()
                self._listing = Listing(content, sha256(content).hexdigest()[:20])
            self._made_at = time.monotonic()
            return self._listing


def _read(name: str, folder: Path) -> list[Cells]:
    experiment = read_experiment(folder)
    found = {row.run: finished_cells(name, row) for row in experiment.rows}
    found.update((run, unfinished_cells(name, run)) for run in experiment.unfinished)
    return [found[run] for run in sorted(found)]
