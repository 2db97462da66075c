"""The index of an experiment's results: ``index.sqlite`` in its folder, one row for each finished run.

The folders are the truth and the index is made from them: ``refresh`` looks at all run folders and reads what is new or
changed, so that an index that is missing, old, broken, or that a killed process did not finish is put right by whoever
reads next. Nobody needs to write to it when a result appears. Where the folder cannot be written to (results on a
read-only disk), the index lives in memory for as long as it is open.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.result_row import COLUMNS, ResultRow, cells_of, row_of, row_of_cells
from gym_anything.benchmark.results import INFO_FILE, FinishedRun
from gym_anything.errors import BenchmarkError

INDEX_FILE = "index.sqlite"
_VERSION = 2
_BUSY_S = 30.0
_DEPTH = 4  # model, env, task, run


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh found.

    Attributes:
        finished: runs in the index now. added, removed: by this refresh (a changed one counts as added).
        unfinished: run folders without a readable ``info.json``: running now, cut off, or spoilt.
    """

    finished: int
    added: int
    removed: int
    unfinished: tuple[str, ...]


class ResultsIndex:
    """An open index; a context manager. For one thread; any number of processes may have one of the same folder."""

    def __init__(self, exp_dir: Path) -> None:
        """Open the index of an experiment's folder, making it where there is none.

        Raises: BenchmarkError when there is no such folder.
        """
        if not exp_dir.is_dir():
            raise BenchmarkError(f"{exp_dir} is no folder of results", detail={"path": str(exp_dir)})
        self.exp_dir = exp_dir
        self.in_memory = False
        self._db = self._open()

    def __enter__(self) -> ResultsIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close it; idempotent."""
        self._db.close()

    @property
    def path(self) -> Path:
        """Where it lies, unless it is ``in_memory``."""
        return self.exp_dir / INDEX_FILE

    def refresh(self) -> Refreshed:
        """Bring the index in line with the folders: one look at each, reading only what is new or changed."""
        there = dict(_stamps(self.exp_dir))
        with self._writing():
            known = dict(self._db.execute("SELECT run, stamp FROM runs"))
            gone = [run for run in known if run not in there or there[run] is None]
            rows, unfinished = [], [run for run, stamp in there.items() if stamp is None]
            for run, stamp in there.items():
                if stamp is None or known.get(run) == stamp:
                    continue
                record = _read(self.exp_dir / run)
                if record is None:
                    unfinished.append(run)
                    gone += [run] if run in known else []
                else:
                    rows.append(row_of(run, stamp, record))
            self._db.executemany("DELETE FROM runs WHERE run = ?", [(run,) for run in gone])
            marks = ", ".join("?" * len(COLUMNS))
            self._db.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", map(cells_of, rows))
            (count,) = self._db.execute("SELECT COUNT(*) FROM runs").fetchone()
        return Refreshed(count, len(rows), len(gone), tuple(sorted(unfinished)))

    def rows(self) -> list[ResultRow]:
        """Return all rows as of the last refresh, in the order of their folders."""
        query = f"SELECT {', '.join(COLUMNS)} FROM runs ORDER BY run"
        return [row_of_cells(cells) for cells in self._db.execute(query)]

    def rebuild(self) -> Refreshed:
        """Forget everything and read all folders again."""
        with self._writing():
            self._db.execute("DELETE FROM runs")
        return self.refresh()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One writer at a time; all of the block or nothing of it."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        for last_try in (False, True):
            try:
                return _connect(str(self.path))
            except sqlite3.OperationalError:
                break  # the folder or the file cannot be written to
            except sqlite3.DatabaseError:  # not a database, or a spoilt one: the folders have everything
                if last_try:
                    break
                with contextlib.suppress(OSError):
                    self.path.unlink(missing_ok=True)
        self.in_memory = True
        return _connect(":memory:")


def _connect(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            columns = ", ".join(f"{name} PRIMARY KEY" if name == "run" else name for name in COLUMNS)
            db.execute("DROP TABLE IF EXISTS runs")
            db.execute(f"CREATE TABLE runs ({columns}) WITHOUT ROWID")
            db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")
        (found,) = db.execute("PRAGMA quick_check").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
    except BaseException:
        db.close()
        raise
    return db


def _stamps(exp_dir: Path) -> Iterator[tuple[str, str | None]]:
    """Yield every run folder and the stamp of its ``info.json``, None where there is none."""
    folders = [""]
    for depth in range(_DEPTH):
        below = []
        for folder in folders:
            with contextlib.suppress(FileNotFoundError), os.scandir(exp_dir / folder) as entries:
                below += [f"{folder}/{e.name}".lstrip("/") for e in entries if e.is_dir() and _may_be(e.name, depth)]
        folders = below
    for run in sorted(folders):
        try:
            status = os.stat(f"{exp_dir}/{run}/{INFO_FILE}")  # noqa: PTH116 - ten thousand of them
        except OSError:
            yield run, None
        else:
            yield run, f"{status.st_mtime_ns}-{status.st_size}"


def _may_be(name: str, depth: int) -> bool:
    return not name.startswith(".") and (depth < _DEPTH - 1 or name.startswith("run_"))


def _read(folder: Path) -> EpisodeRecord | None:
    try:
        return FinishedRun(folder).record
    except BenchmarkError:
        return None  # not ours, or cut off by a full disk: then it is not finished
