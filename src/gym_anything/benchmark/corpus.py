"""Everything under a folder of benchmarks, loaded: what is broken, what is missing beside it, what is odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything.benchmark.layout import Benchmark, has_env_file
from gym_anything.benchmark.splits import VERIFIED_FILE, Splits, load_splits, read_split_file, read_verified_file
from gym_anything.errors import SpecError, SpecNotFound
from gym_anything.specs.beside import Missing, missing_beside_env, missing_beside_task
from gym_anything.specs.loading import GENERATED_FOLDERS, LoadedEnv, list_tasks, load_env, load_task, scan_tasks
from gym_anything.specs.reading import absolute_path, find_spec_file, folder_entries, is_file, is_folder, read_document
from gym_anything.specs.spec_warning import SpecWarning
from gym_anything.verification.vlm.checklist import read_checklist

SEARCH_DEPTH = 4
CHECKLIST = "vlm_checklist.json"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something in a benchmark that is no fault: a stray file, a folder without a task, a task that is gone."""

    path: str
    kind: str
    message: str


@dataclass(slots=True)
class BenchmarkReport:
    """What loading one benchmark gave.

    Attributes:
        name, root: the benchmark.
        loaded: how many ``environments``, ``tasks``, ``splits`` and ``checklists`` loaded.
        broken: one error for each file that did not.
        missing: what specs name and no file is there for.
        warnings: what is odd inside specs.
        remarks: what is odd around them.
    """

    name: str
    root: Path
    loaded: Counter[str] = field(default_factory=Counter)
    broken: list[SpecError] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    warnings: list[SpecWarning] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Everything loaded. What is missing beside the specs does not count."""
        return not self.broken

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form for ``--json``."""
        return {
            "name": self.name,
            "root": str(self.root),
            "ok": self.ok,
            "loaded": dict(self.loaded),
            "broken": [error.to_wire() for error in self.broken],
            "missing": [m.as_dict() for m in self.missing],
            "warnings": [w.as_dict() for w in self.warnings],
            "remarks": [{"path": r.path, "kind": r.kind, "message": r.message} for r in self.remarks],
        }


def find_benchmarks_under(folder: str | Path) -> list[Benchmark]:
    """Return every benchmark in a folder or below it, without looking inside benchmarks for more.

    Raises: SpecNotFound when there is none.
    """
    root = absolute_path(folder)
    found = _descend(root, SEARCH_DEPTH)
    if not found:
        raise SpecNotFound(
            f"{folder}: no benchmark here or below (a benchmark is a folder that has `environments/`)",
            detail={"file": str(folder), "fix": "name a folder such as <corpus> with benchmarks/*/environments in it"},
        )
    return found


def verify_benchmark(benchmark: Benchmark, on_step: Callable[[str], None] | None = None) -> BenchmarkReport:
    """Load every environment, task, split and checklist of a benchmark; nothing broken spoils anything else.

    Args:
        on_step: called with the name of each environment once it is done.
    """
    report = BenchmarkReport(benchmark.name, benchmark.root)
    for folder in folder_entries(benchmark.environments_dir):
        if folder.name in GENERATED_FOLDERS:
            continue
        if not is_folder(folder):
            report.remarks.append(Remark(str(folder), "stray-file", "a file between the environments"))
            continue
        _verify_environment(folder, report)
        if on_step is not None:
            on_step(folder.name)
    _verify_splits(load_splits(benchmark), report)
    return report


def verify_path(path: str | Path) -> BenchmarkReport:
    """Load one environment with its tasks, one task, or one split file.

    Args:
        path: an environment's or a task's folder or file, a ``*_split.json`` or ``verified.json``.
    Raises: SpecNotFound when the path is none of these.
    """
    place = absolute_path(path)
    report = BenchmarkReport(place.name, place)
    folder = place.parent if is_file(place) else place
    if place.name.endswith("_split.json") or place.name == VERIFIED_FILE:
        _verify_split_file(place, report)
    elif (place.stem == "task" and is_file(place)) or find_spec_file(place, "task")[0] is not None:
        _verify_one_task(folder, report)
    elif has_env_file(folder):
        _verify_environment(folder, report)
    else:
        raise SpecNotFound(
            f"{path}: neither an environment, a task nor a split file",
            detail={"file": str(path), "fix": "name a folder that holds env.* or task.*, or a split file"},
        )
    return report


def _verify_split_file(file: Path, report: BenchmarkReport) -> None:
    try:
        read_verified_file(file) if file.name == VERIFIED_FILE else read_split_file(file)
    except SpecError as error:
        report.broken.append(error)
    else:
        report.loaded["splits"] += 1


def _verify_one_task(folder: Path, report: BenchmarkReport) -> None:
    env_root = folder.parent.parent
    try:
        task = load_task(env_root, folder.name)
    except SpecError as error:
        report.broken.append(error)
        return
    report.loaded["tasks"] += 1
    report.warnings += task.warnings
    try:
        report.missing += missing_beside_task(load_env(env_root), task)
    except SpecError:
        report.remarks.append(
            Remark(str(env_root), "no-environment", "its environment does not load; files not looked up")
        )


def _descend(folder: Path, depth: int) -> list[Benchmark]:
    if is_folder(folder / "environments"):
        return [Benchmark(folder.name, folder)]
    if depth == 0:
        return []
    inner = [entry for entry in folder_entries(folder) if not entry.name.startswith(".") and is_folder(entry)]
    return [found for entry in inner if not entry.is_symlink() for found in _descend(entry, depth - 1)]


def _verify_environment(folder: Path, report: BenchmarkReport) -> None:
    env: LoadedEnv | None = None
    if has_env_file(folder):
        try:
            env = load_env(folder)
        except SpecError as error:
            report.broken.append(error)
        else:
            report.loaded["environments"] += 1
            report.warnings += env.warnings
            report.missing += missing_beside_env(env)
    else:
        report.remarks.append(Remark(str(folder), "no-env-file", "no env.yaml, env.yml or env.json"))
    for entry in scan_tasks(folder):
        if entry.task is None:
            report.broken += [entry.error] if entry.error is not None else []
            continue
        report.loaded["tasks"] += 1
        report.warnings += entry.task.warnings
        if env is not None:
            report.missing += missing_beside_task(env, entry.task)
        _verify_checklist(entry.task.root / CHECKLIST, report)
    _remark_on_strays(folder, report)


def _verify_checklist(file: Path, report: BenchmarkReport) -> None:
    if not is_file(file):
        return
    try:
        read_checklist(read_document(file).data, file=file)
    except SpecError as error:
        report.broken.append(error)
    else:
        report.loaded["checklists"] += 1


def _remark_on_strays(folder: Path, report: BenchmarkReport) -> None:
    tasks = set(list_tasks(folder))
    for entry in folder_entries(folder / "tasks"):
        if entry.name in tasks or entry.name in GENERATED_FOLDERS:
            continue
        if is_folder(entry):
            report.remarks.append(Remark(str(entry), "no-task-file", "no task.yaml, task.yml or task.json"))
        else:
            report.remarks.append(Remark(str(entry), "stray-file", "a file between the tasks"))


def _verify_splits(splits: Splits, report: BenchmarkReport) -> None:
    report.broken += splits.errors
    report.loaded["splits"] += len(splits.files) + (splits.verified is not None)
    environments = set(splits.benchmark.environments())
    for file in splits.files:
        if file.env not in environments:
            report.remarks.append(Remark(str(file.file), "no-environment", f"there is no environment {file.env}"))
            continue
        there = set(splits.benchmark.tasks(file.env))
        gone = {task for names in file.lists.values() for task in names} - there
        if gone:
            some = ", ".join(sorted(gone)[:5]) + (" …" if len(gone) > 5 else "")
            report.remarks.append(
                Remark(str(file.file), "tasks-gone", f"{len(gone)} listed tasks do not exist: {some}")
            )
