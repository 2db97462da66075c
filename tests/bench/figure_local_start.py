"""A local world at 1920x1080: from nothing to a ready desktop, its idle memory, and its restore from a checkpoint."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from gym_anything import from_config
from tests.bench.worlds import desktop_env, idle_pss_mib

ROUNDS = 15


def main() -> None:
    series: dict[str, list[float]] = {"start_s": [], "restore_s": [], "idle_pss_mib": []}
    with tempfile.TemporaryDirectory() as folder:
        spec = desktop_env(Path(folder))
        for _ in range(ROUNDS):
            with from_config(spec) as env:
                begin = time.perf_counter()
                env.reset()
                series["start_s"].append(round(time.perf_counter() - begin, 4))
                series["idle_pss_mib"].append(round(idle_pss_mib(env), 2))
        with from_config(spec) as env:
            env.reset(use_cache=True, cache_level="post_start")
        for _ in range(ROUNDS):
            with from_config(spec) as env:
                begin = time.perf_counter()
                env.reset(use_cache=True, cache_level="post_start")
                series["restore_s"].append(round(time.perf_counter() - begin, 4))
    summary = {f"{key}_p50": round(statistics.median(values), 3) for key, values in series.items()}
    summary |= {f"{key}_max": round(max(values), 3) for key, values in series.items()}
    conditions = "reset() of debian-desktop, first observation included; PSS of every process of the world"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
