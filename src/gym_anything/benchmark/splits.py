"""Which tasks belong to which split of an environment.

A split file names its environment by the last component of ``env_folder``; several files may name one environment, and
many environments have none. What a split lists but no folder holds is reported, not fatal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from gym_anything.benchmark.layout import Benchmark
from gym_anything.errors import SpecError, SpecNotFound
from gym_anything.specs.document import kind_of
from gym_anything.specs.near_miss import suggestion
from gym_anything.specs.problem import Problem, spec_invalid
from gym_anything.specs.reading import read_document

Surface = Literal["raw", "verified"]
SURFACES: tuple[Surface, ...] = ("raw", "verified")
ALL, TRAIN, TEST, DISK = "all", "train", "test", "disk"
_SUFFIX = "_tasks"
VERIFIED_FILE = "verified.json"


@dataclass(frozen=True, slots=True)
class SplitFile:
    """One parsed split file.

    Attributes:
        file: where it is.
        env: the environment's folder name.
        lists: split name to tasks, as written.
    """

    file: Path
    env: str
    lists: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Selection:
    """The tasks of one split of one environment.

    Attributes:
        env: the environment's folder name.
        split: the split's name.
        surface: ``raw``: all of them; ``verified``: those that ``verified.json`` lists.
        tasks: those that exist, in the order of the split.
        gone: those that are listed but have no task folder.
    """

    env: str
    split: str
    surface: Surface
    tasks: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Splits:
    """All splits of a benchmark.

    Attributes:
        benchmark: whose they are.
        files: the split files that could be read.
        verified: environment to verified tasks, or None when there is no ``verified.json``.
        errors: one error for each file that could not be read; they spoil nothing else.
    """

    benchmark: Benchmark
    files: tuple[SplitFile, ...]
    verified: Mapping[str, tuple[str, ...]] | None
    errors: tuple[SpecError, ...] = field(default=())

    def names(self, env: str) -> list[str]:
        """Return the splits that an environment has.

        Raises: SpecNotFound for an unknown environment; SpecInvalid when its split file is broken.
        """
        return list(self._lists(env, self.benchmark.tasks(env)))

    def select(self, env: str, split: str = ALL, surface: Surface = "raw") -> Selection:
        """Return the tasks of a split.

        ``all`` is everything that any list of the environment names; ``disk`` is the folders. An environment without a
        split file has its folders as ``all`` and ``train``.

        Raises: SpecNotFound for an unknown environment or split (lists what exists) and for ``verified`` without
            ``verified.json``; SpecInvalid when the environment's split file is broken.
        """
        on_disk = self.benchmark.tasks(env)
        lists = self._lists(env, on_disk)
        if split not in lists:
            fix = suggestion(split, lists, "there are")
            raise SpecNotFound(f"environment {env} has no split {split!r}; {fix}", detail={"key": split, "fix": fix})
        wanted = lists[split]
        if surface == "verified":
            verified = set(self._verified(env))
            wanted = tuple(task for task in wanted if task in verified)
        there = set(on_disk)
        tasks = tuple(task for task in wanted if task in there)
        return Selection(env, split, surface, tasks, tuple(task for task in wanted if task not in there))

    def _lists(self, env: str, on_disk: Iterable[str]) -> dict[str, tuple[str, ...]]:
        self._raise_if_broken(env)
        disk = tuple(on_disk)
        mine = [file for file in self.files if file.env == env]
        if not mine:
            return {ALL: disk, TRAIN: disk, TEST: (), DISK: disk}
        names = dict.fromkeys([TRAIN, TEST, *(name for file in mine for name in file.lists)])
        lists = {name: _union(file.lists.get(name, ()) for file in mine) for name in names}
        everything = _union([lists.get(ALL, ()), *lists.values()])
        return {ALL: everything, **{k: v for k, v in lists.items() if k != ALL}, DISK: disk}

    def _verified(self, env: str) -> tuple[str, ...]:
        if self.verified is None:
            file = self.benchmark.splits_dir / VERIFIED_FILE
            broken = next((e for e in self.errors if e.detail.get("file") == str(file)), None)
            raise broken or SpecNotFound(
                f"benchmark {self.benchmark.name} has no verified tasks: there is no {file}",
                detail={"file": str(file), "fix": "use the surface `raw`"},
            )
        return self.verified.get(env, ())

    def _raise_if_broken(self, env: str) -> None:
        """A broken split file names no environment; its own name is the hint (``x_split.json`` for ``x_env``)."""
        for error in self.errors:
            name = PurePosixPath(str(error.detail.get("file", ""))).name
            if name.endswith("_split.json") and _words(name.removesuffix("_split.json")) == _words(env):
                raise error


def load_splits(benchmark: Benchmark) -> Splits:
    """Read every split file of a benchmark. A broken one gives one error in ``Splits.errors``."""
    files: list[SplitFile] = []
    errors: list[SpecError] = []
    folder = benchmark.splits_dir
    for path in sorted(folder.glob("*_split.json")) if folder.is_dir() else ():
        try:
            files.append(read_split_file(path))
        except SpecError as error:
            errors.append(error)
    verified = None
    if (folder / VERIFIED_FILE).is_file():
        try:
            verified = read_verified_file(folder / VERIFIED_FILE)
        except SpecError as error:
            errors.append(error)
    return Splits(benchmark, tuple(files), verified, tuple(errors))


def read_split_file(file: Path) -> SplitFile:
    """Read ``{env_folder, <name>_tasks …, additional_splits}``.

    Raises: SpecInvalid (``detail``: file, key, fix).
    """
    data = read_document(file).data
    try:
        env = _env_name(data.get("env_folder"))
        lists = {
            key.removesuffix(_SUFFIX): _names(key, value)
            for key, value in data.items()
            if key.endswith(_SUFFIX) and key != _SUFFIX
        }
        more = data.get("additional_splits") or {}
        if not isinstance(more, dict):
            raise Problem("additional_splits", f"is {kind_of(more)}", "write an object of name and list")
        for name, value in more.items():
            lists[name] = _union([lists.get(name, ()), _names(f"additional_splits.{name}", value)])
        if DISK in lists:
            raise Problem(DISK, "is the name of the split that lists the folders", "choose another name")
    except Problem as problem:
        raise spec_invalid(str(file), [problem]) from None
    return SplitFile(file, env, lists)


def read_verified_file(file: Path) -> dict[str, tuple[str, ...]]:
    """Read ``{"by_environment": {env: [task …]}}``; further keys are for people.

    Raises: SpecInvalid (``detail``: file, key, fix).
    """
    data = read_document(file).data
    try:
        table = data.get("by_environment")
        if not isinstance(table, dict):
            raise Problem("by_environment", f"is {kind_of(table)}", "write an object of environment and task list")
        return {env: _names(f"by_environment.{env}", tasks) for env, tasks in table.items()}
    except Problem as problem:
        raise spec_invalid(str(file), [problem]) from None


def _env_name(folder: Any) -> str:
    if not isinstance(folder, str):
        raise Problem("env_folder", "is missing" if folder is None else f"is {kind_of(folder)}", "name the folder")
    name = PurePosixPath(folder.replace("\\", "/")).name
    if not name or name == "..":
        raise Problem("env_folder", "names no folder", "name the environment's folder")
    return name


def _names(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(task, str) for task in value):
        raise Problem(
            key, f"is {kind_of(value)}" if not isinstance(value, list) else "holds more than texts", "list names"
        )
    return tuple(dict.fromkeys(value))


def _union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for names in lists for task in names))


def _words(name: str) -> frozenset[str]:
    return frozenset(name.split("_")) - {"env"}
