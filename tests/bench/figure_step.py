"""`env.step` with one click in fast mode at 1920x1080, with a new frame after the acknowledged input."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from gym_anything import from_config
from tests.bench.worlds import desktop_env

STEPS = 1000


def main() -> None:
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder, from_config(desktop_env(Path(folder)), fast_io=True) as env:
        env.reset()
        env.set_episode_limits(max_steps=STEPS + 100)
        for n in range(STEPS + 20):
            action = {"mouse": {"left_click": [400 + n % 900, 300 + n % 500]}}
            begin = time.perf_counter()
            env.step(action)
            times.append((time.perf_counter() - begin) * 1000)
    times = [round(t, 4) for t in times[20:]]
    quantiles = statistics.quantiles(times, n=100)
    summary = {"step_click_ms_p50": round(statistics.median(times), 3), "step_click_ms_p95": round(quantiles[94], 3)}
    print(
        json.dumps(
            {
                "summary": summary,
                "series": {"step_click_ms": times},
                "conditions": "the observation's array is a view without a copy; its PIL image is made when asked for",
            }
        )
    )


if __name__ == "__main__":
    main()
