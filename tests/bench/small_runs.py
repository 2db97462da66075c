"""Runs of ``gym-anything benchmark`` on fake worlds with small frames: what the figures of running have in common."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.unit.benchmark.small_benchmark import write_env

ROOT = Path(__file__).parents[2]
MARK = "GA_FIGURE_MARK"
EXP = "figure"


def write_small_benchmark(folder: Path, tasks: int) -> Path:
    """Write a benchmark of one environment with so many tasks, its frames 64x48; returns its folder."""
    screen = [{"type": "rgb_screen", "resolution": [64, 48]}]
    write_env(folder / "small", "notes", tuple(f"task_{number:03d}" for number in range(tasks)), observation=screen)
    return folder / "small"


def start(folder: Path, *arguments: str, **pipes: Any) -> subprocess.Popen[str]:
    """Start ``gym-anything benchmark`` in a folder that has such a benchmark; all its processes carry the mark."""
    argv = [sys.executable, "-m", "gym_anything.cli.main", "benchmark", "all", "--benchmark", "small", "--exp", EXP]
    argv += ["--fast-io", "--seed", "0", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), MARK: str(folder)}
    return subprocess.Popen(argv, cwd=folder, env=environment, text=True, **pipes)


def exp_dir(folder: Path) -> Path:
    """Return where the results of such a run lie."""
    return folder / "all_runs" / EXP
