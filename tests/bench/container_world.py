"""The figures of a world in a container: ready from its image beside the bare mechanism, and a step with a click."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gym_anything import from_config
from tests.bench.worlds import desktop_env

ROUNDS, STEPS, WARM = 25, 1000, 50
Series = dict[str, list[float]]


def measure(runner: str, folder: Path, bare: Callable[[], float], *, bare_name: str) -> Series:
    """Start worlds and the bare mechanism by turns, then step in one world.

    Args: bare: does what any program must do for such a world, undoes it, and returns the seconds of the first part.
    """
    spec = {**desktop_env(folder), "runner": runner}
    series: Series = {"start_s": [], f"{bare_name}_s": [], "step_click_ms": []}
    with from_config(spec, fast_io=True) as env:  # what is made once on a machine is there from here on
        env.reset()
    bare()
    for _ in range(ROUNDS):
        series[f"{bare_name}_s"].append(round(bare(), 4))
        with from_config(spec, fast_io=True) as env:
            begin = time.perf_counter()
            env.reset()
            series["start_s"].append(round(time.perf_counter() - begin, 4))
    with from_config(spec, fast_io=True) as env:
        env.reset()
        env.set_episode_limits(max_steps=STEPS + WARM + 10)
        series["step_click_ms"] = [_click_ms(env, n) for n in range(STEPS + WARM)][WARM:]
    return series


def _click_ms(env: Any, n: int) -> float:
    """Return the milliseconds of one step: a click acknowledged, and a frame as an array that is not older."""
    action = {"mouse": {"left_click": [400 + n % 900, 300 + n % 500]}}
    begin = time.perf_counter()
    obs, *_ = env.step(action)
    took = time.perf_counter() - begin
    assert obs["screen"]["array"].shape == (1080, 1920, 3)
    return round(took * 1000, 4)


def report(series: Series, conditions: str) -> None:
    """Print the record."""
    summary = {}
    for key, values in series.items():
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        summary |= {f"{key}_p50": round(statistics.median(values), 3), f"{key}_p95": round(cuts[94], 3)}
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))
