"""How results are read: the one door for reports, exports and viewers.

``find_experiment`` turns what a person typed into a folder, ``read_experiment`` returns an ``Experiment``: its rows
(fast: from the index, which is brought up to date first) and, one at a time, whole records and their folders. Nothing
here starts a world, and nothing changes a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.result_row import ResultRow, counted
from gym_anything.benchmark.results import FinishedRun, folder_name
from gym_anything.benchmark.results_index import INDEX_FILE, ResultsIndex
from gym_anything.errors import BenchmarkError
from gym_anything.specs.near_miss import suggestion

RESULTS_ROOT = Path("all_runs")


@dataclass(frozen=True, slots=True)
class Experiment:
    """The results of one experiment, as they were when they were read.

    Attributes:
        exp_dir: its folder, absolute.
        rows: every finished run, in the order of their folders, also broken ones that were tried again.
        unfinished: run folders without a result, relative to ``exp_dir``: running now, or cut off.
    """

    exp_dir: Path
    rows: Sequence[ResultRow]
    unfinished: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the experiment's folder."""
        return self.exp_dir.name

    def counted(self) -> list[ResultRow]:
        """Return one row for each model, env, task, seed and attempt: what rates and tables are made of."""
        return counted(self.rows)

    def run_dir(self, row: ResultRow) -> Path:
        """Return the folder of a run, absolute."""
        return self.exp_dir / row.run

    def episode_dir(self, row: ResultRow) -> Path | None:
        """Return the folder with the episode's artifacts; None when there is none (any more)."""
        if row.episode_dir is None:
            return None
        folder = self.run_dir(row) / row.episode_dir  # an absolute one stays as it is
        return folder if folder.is_dir() else None

    def record(self, row: ResultRow) -> EpisodeRecord:
        """Read a run's whole record. Raises: BenchmarkError when it is gone or spoilt."""
        return FinishedRun(self.run_dir(row)).record


def read_experiment(exp_dir: Path) -> Experiment:
    """Read an experiment; blocks for about a tenth of a second for ten thousand known runs.

    Raises: BenchmarkError when there is no such folder.
    """
    with ResultsIndex(exp_dir.absolute()) as index:
        unfinished = index.refresh().unfinished
        return Experiment(exp_dir.absolute(), index.rows(), unfinished)


def find_experiment(reference: str, root: Path = RESULTS_ROOT) -> Path:
    """Return the folder of an experiment.

    Args:
        reference: its name below ``root``, or its folder.
        root: where results lie.
    Raises: BenchmarkError that lists the experiments there are.
    """
    for folder in (root / folder_name(reference), Path(reference).expanduser()):
        if folder.is_dir() and folder.absolute() != root.absolute():
            return folder.absolute()
    names = experiments(root)
    there = suggestion(reference, names, "there are") if names else "there is none yet"
    raise BenchmarkError(f"no experiment {reference!r} in {root}; {there}", detail={"root": str(root)})


def experiments(root: Path = RESULTS_ROOT) -> list[str]:
    """Return the names of the experiments below ``root``."""
    if not root.is_dir():
        return []
    return sorted(p.name for p in root.iterdir() if p.is_dir() and _is_experiment(p))


def _is_experiment(folder: Path) -> bool:
    return (folder / INDEX_FILE).exists() or next(folder.glob("*/*/*/run_*"), None) is not None
