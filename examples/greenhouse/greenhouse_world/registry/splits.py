"""The splits of this package, with the benchmark's own folder filled in.

A pattern to copy: put this file into a folder beside your own ``environments/`` and ``splits/`` and change nothing.
Everything it does is done by ``gym_anything.benchmark.splits``, which takes any benchmark::

    from greenhouse_world.registry.splits import select, split_names

    split_names("greenhouse")                             # ["all", "train", "test", "disk"]
    select("greenhouse", "test").tasks                    # ("label_plant",)
    select("greenhouse", surface="verified").tasks        # those that verified.json lists
"""

from __future__ import annotations

from pathlib import Path

from gym_anything.benchmark.layout import Benchmark, find_benchmark
from gym_anything.benchmark.splits import ALL, Selection, Splits, Surface, load_splits

ROOT = Path(__file__).resolve().parents[1]


def benchmark() -> Benchmark:
    """Return this benchmark."""
    return find_benchmark(ROOT)


def splits() -> Splits:
    """Read this benchmark's split files."""
    return load_splits(benchmark())


def split_names(env: str) -> list[str]:
    """Return the splits that an environment has. Raises: SpecNotFound for an unknown one."""
    return splits().names(env)


def select(env: str, split: str = ALL, surface: Surface = "raw") -> Selection:
    """Return the tasks of a split. Raises: SpecNotFound that lists what exists."""
    return splits().select(env, split, surface)
