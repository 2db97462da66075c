"""The results folder: ``<root>/<exp>/<model>/<env>/<task>/run_NNN/``.

A run's folder is made before its episode starts, by ``mkdir``, so that two runs started in one second, by one process
or two, never share one. ``info.json`` is written last and whole: a folder with it is a finished run, one without it was
cut off and is repeated by ``--skip-existing``. Nothing is ever overwritten. The attempt is claimed with the folder, so
that two runs of one task at the same time are two results.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gym_anything._util.atomic_write import write_json
from gym_anything.benchmark.attempt_claim import claim, claimed_attempts, one_claims
from gym_anything.benchmark.configuration import has_same_configuration
from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.errors import BenchmarkError

INFO_FILE = "info.json"
_LONGEST_NAME_BYTES = 200
_UNSAFE = re.compile(r"[^\w.+@=-]+")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """One run folder that has an ``info.json``. It refers to the record and does not hold it: runs are many.

    Attributes:
        run_dir: the folder.
    """

    run_dir: Path

    @property
    def record(self) -> EpisodeRecord:
        """What is in the file, read at each access. Raises: BenchmarkError when it is gone or spoilt."""
        path = self.run_dir / INFO_FILE
        try:
            return EpisodeRecord.from_dict(json.loads(path.read_bytes()))
        except (OSError, ValueError) as error:
            raise BenchmarkError(f"{path} cannot be read: {error}", detail={"path": str(path)}) from error


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """All runs of one experiment.

    Attributes:
        root: such as ``all_runs``.
        exp: name of the experiment.
    """

    root: Path
    exp: str

    @property
    def exp_dir(self) -> Path:
        """The folder of the experiment, absolute."""
        return (self.root / folder_name(self.exp)).absolute()

    def task_dir(self, request: EpisodeRequest) -> Path:
        """Return the folder of a task's runs."""
        return self.exp_dir.joinpath(*map(folder_name, (request.model, request.env, request.task)))

    def new_run_dir(self, request: EpisodeRequest) -> Path:
        """Make and return a new run's folder, empty and nobody else's."""
        parent = self.task_dir(request)
        try:
            parent.mkdir(parents=True, exist_ok=True)
            taken = [int(name.name[4:]) for name in parent.glob("run_*") if name.name[4:].isdigit()]
            number = max(taken, default=0)
            while True:
                number += 1
                path = parent / f"run_{number:03d}"
                try:
                    path.mkdir()
                except FileExistsError:
                    continue  # somebody else was quicker
                return path
        except OSError as error:
            raise BenchmarkError(f"no run folder can be made in {parent}: {error.strerror}") from error

    @contextlib.contextmanager
    def begun(self, request: EpisodeRequest) -> Iterator[tuple[EpisodeRequest, Path]]:
        """Hold a new run's folder and an attempt of its own: the request's, or the next that nobody has or plays.

        Yields: the request with that attempt, and the folder. Afterwards the attempt is the result's, if there is one.
        Raises: BenchmarkError when no folder can be made or claimed.
        """
        parent = self.task_dir(request)
        try:
            parent.mkdir(parents=True, exist_ok=True)
            with one_claims(parent):
                attempt = next(self._free_attempts(request, request.attempt))
                run_dir = self.new_run_dir(request)
                lock = claim(run_dir, request.seed, attempt)
        except OSError as error:
            raise BenchmarkError(f"no run folder can be made in {parent}: {error.strerror}") from error
        try:
            yield replace(request, attempt=attempt), run_dir
        finally:
            lock.release(remove=True)

    def finished(self, request: EpisodeRequest) -> list[FinishedRun]:
        """Return the finished runs of a task, oldest first; folders without a readable ``info.json`` do not count."""
        return [run for run, _ in finished_runs(self.task_dir(request), "run_*")]

    def counting(self, request: EpisodeRequest, task_digest: str | None) -> list[FinishedRun]:
        """Return the finished runs that count as done for a request.

        Of the same configuration (``has_same_configuration``) and the task's present content, not broken (a broken run
        says nothing and is repeated), not interrupted.
        """
        found = finished_runs(self.task_dir(request), "run_*")
        return [run for run, record in found if _counts(record, request, task_digest)]

    def free_attempts(self, request: EpisodeRequest, count: int) -> list[int]:
        """Return the lowest attempts of this model, task and seed that have no result and that nobody plays now.

        A broken result leaves its attempt free.
        """
        return list(itertools.islice(self._free_attempts(request, 0), count))

    def _free_attempts(self, request: EpisodeRequest, lowest: int) -> Iterator[int]:
        folder = self.task_dir(request)
        taken = claimed_attempts(folder, request.seed)  # first: what ends in between has a result by then
        taken |= {
            record.request.get("attempt") or 0
            for _, record in finished_runs(folder, "run_*")
            if record.says_something and record.request.get("seed") == request.seed
        }
        return (attempt for attempt in itertools.count(lowest) if attempt not in taken)

    def all_runs(self) -> list[FinishedRun]:
        """Return every finished run of the experiment."""
        return [run for run, _ in finished_runs(self.exp_dir, "*/*/*/run_*")]


def finish_run(run_dir: Path, record: EpisodeRecord) -> Path:
    """Write ``info.json``, which makes the run a finished one; returns its path.

    Raises: BenchmarkError when the run has one already.
    """
    path = run_dir / INFO_FILE
    if path.exists():
        raise BenchmarkError(f"{path} exists already; finished results are never overwritten")
    try:
        write_json(path, record.to_dict(), durable=True)
    except OSError as error:
        raise BenchmarkError(f"{path} cannot be written: {error.strerror}") from error
    return path


def finished_runs(folder: Path, pattern: str) -> Iterator[tuple[FinishedRun, EpisodeRecord]]:
    """Yield the finished runs among the folders that a pattern below ``folder`` matches, in order of their path."""
    for info in sorted(folder.glob(f"{pattern}/{INFO_FILE}")):
        run = FinishedRun(info.parent)
        try:
            yield run, run.record
        except BenchmarkError:
            continue  # not ours, or cut off by a full disk: then it is not finished


def folder_name(name: str) -> str:
    """Return a name that is safe as one folder: ``Qwen/Qwen3-VL`` becomes ``Qwen--Qwen3-VL``; a long one is cut."""
    safe = _UNSAFE.sub("_", name.replace("/", "--").replace(":", "--")).strip(".") or "unnamed"
    encoded = safe.encode("utf-8", "replace")
    if len(encoded) <= _LONGEST_NAME_BYTES:
        return safe
    mark = hashlib.sha256(encoded).hexdigest()[:8]
    return f"{encoded[: _LONGEST_NAME_BYTES - 9].decode('utf-8', 'ignore')}-{mark}"


def _counts(record: EpisodeRecord, request: EpisodeRequest, task_digest: str | None) -> bool:
    return (
        record.says_something
        and has_same_configuration(record, request)
        and (task_digest is None or record.task_digest in (None, task_digest))
    )
