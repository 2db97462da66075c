"""The shape of a benchmark on disk, and how one is found.

::

    <root>/environments/<env>/env.json
    <root>/environments/<env>/tasks/<task>/task.json   (+ set-up, export, verifier.py, assets)
    <root>/splits/<env>_split.json
    <root>/splits/verified.json

Anything of this shape is a benchmark; nothing is registered. Folder names are the keys: ids inside the files repeat.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util import env_vars
from gym_anything.errors import SpecNotFound
from gym_anything.specs.loading import list_tasks
from gym_anything.specs.near_miss import suggestion
from gym_anything.specs.reading import absolute_path, find_spec_file, folder_entries, is_folder

BENCHMARK_VAR = env_vars.declare(
    "GYM_ANYTHING_BENCHMARK",
    env_vars.text,
    "",
    "Benchmark used where none is named: a folder that has `environments/`, or a package. Unset: the only one.",
    "gym_anything.benchmark",
)
NAMESPACE = "benchmarks"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's folder.

    Attributes:
        name: short name for reports and result folders.
        root: absolute path of the folder that has ``environments/``.
    """

    name: str
    root: Path

    @property
    def environments_dir(self) -> Path:
        return self.root / "environments"

    @property
    def splits_dir(self) -> Path:
        return self.root / "splits"

    def environments(self) -> list[str]:
        """Return the environments' folder names, sorted: folders with an env file. Parses none of them."""
        return [path.name for path in folder_entries(self.environments_dir) if has_env_file(path)]

    def env_dir(self, env: str) -> Path:
        """Return an environment's folder.

        Raises: SpecNotFound that lists what exists.
        """
        names = self.environments()
        if env not in names:
            fix = suggestion(env, names, "there are")
            raise SpecNotFound(
                f"benchmark {self.name} ({self.root}) has no environment {env!r}; {fix}",
                detail={"file": str(self.environments_dir), "key": env, "fix": fix},
            )
        return self.environments_dir / env

    def tasks(self, env: str) -> list[str]:
        """Return an environment's task folders, sorted. Parses none of them.

        Raises: SpecNotFound for an unknown environment.
        """
        return list_tasks(self.env_dir(env))


def has_env_file(folder: Path) -> bool:
    """Tell whether a folder is an environment: it holds ``env.yaml``, ``env.yml`` or ``env.json``."""
    return find_spec_file(folder, "env")[0] is not None


def find_benchmark(reference: str | Path | None = None) -> Benchmark:
    """Return the benchmark that a reference means.

    Args:
        reference: a folder that has ``environments/``; or a package, ``benchmarks.<name>`` or ``<name>``; or a folder
            ``benchmarks/<name>`` of the working folder by its name. None: ``GYM_ANYTHING_BENCHMARK``, else the only
            benchmark there is.
    Raises: SpecNotFound that lists the benchmarks there are.
    """
    wanted = str(reference) if reference is not None else BENCHMARK_VAR.get()
    if not wanted:
        return _the_only_one()
    path = absolute_path(wanted)
    if is_folder(path / "environments"):
        return Benchmark(path.name, path)
    for folder in _named(wanted):
        return Benchmark(folder.name, folder)
    if is_folder(path):
        raise SpecNotFound(
            f"{wanted} is no benchmark: it has no folder `environments`", detail={"file": str(path), "key": wanted}
        )
    fix = suggestion(wanted, known_benchmarks(), "there are")
    raise SpecNotFound(
        f"there is no benchmark {wanted!r} (a folder that has `environments/`, or a package); {fix}",
        detail={"key": wanted, "fix": fix},
    )


def known_benchmarks() -> dict[str, Path]:
    """Return the benchmarks that have short names: installed under ``benchmarks``, or in ``./benchmarks``."""
    found: dict[str, Path] = {}
    for parent in (*_package_folders(NAMESPACE), Path.cwd() / NAMESPACE):
        for folder in folder_entries(parent):
            if is_folder(folder / "environments"):
                found.setdefault(folder.name, folder.absolute())
    return dict(sorted(found.items()))


def find_env_dir(reference: str | Path, benchmark: str | Path | None = None) -> Path:
    """Return the environment that a command line's ``ENV`` means.

    Args:
        reference: an environment's folder, or its name inside a benchmark.
        benchmark: as for ``find_benchmark``.
    Raises: SpecNotFound that lists what exists.
    """
    path = absolute_path(reference)
    if benchmark is None and has_env_file(path):
        return path
    if len(Path(reference).parts) != 1:
        raise SpecNotFound(
            f"{reference}: there is no env.yaml, env.yml or env.json in this folder",
            detail={"file": str(path), "fix": "name an environment's folder, or its name inside a benchmark"},
        )
    try:
        return find_benchmark(benchmark).env_dir(str(reference))
    except SpecNotFound as error:
        if benchmark is not None:
            raise
        message = f"there is no environment {str(reference)!r}: no such folder here, and {error}"
        raise SpecNotFound(message, detail=error.detail) from None


def _the_only_one() -> Benchmark:
    known = known_benchmarks()
    if len(known) != 1:
        listed = ", ".join(known) or "none"
        fix = f"name one (--benchmark), or set {BENCHMARK_VAR.name}; there are: {listed}"
        raise SpecNotFound(f"no benchmark was named; {fix}", detail={"fix": fix})
    return Benchmark(*next(iter(known.items())))


def _named(name: str) -> Iterator[Path]:
    """Yield the folders that a package name may mean, best first."""
    short = name.removeprefix(f"{NAMESPACE}.")
    candidates = [
        *_package_folders(f"{NAMESPACE}.{short}"),
        *_package_folders(name),
        *([Path.cwd() / NAMESPACE / short] if short.isprintable() and "/" not in short else []),
    ]
    for folder in candidates:
        if is_folder(folder / "environments"):
            yield folder.absolute()


def _package_folders(name: str) -> list[Path]:
    """Return the folders of an importable package without importing it (its parents are imported)."""
    if not name or name.startswith(".") or any(c in name for c in "/\\\0"):
        return []
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return []  # not importable: then it is no package
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec is not None else []
