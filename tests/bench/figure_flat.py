"""Two hundred episodes on real desktops in one process: descriptors, threads, processes, files and memory stay flat."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path

from gym_anything import from_config
from gym_anything._util import proc
from gym_anything._util.state_dir import state_root
from tests.bench.worlds import desktop_env

EPISODES = 200
WARM_UP = 20


def counts() -> dict[str, int]:
    return {
        "fds": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": threading.active_count(),
        "processes": len(proc.descendants(os.getpid())),
        "state_files": sum(1 for _ in state_root().rglob("*")),
        "temp_files": sum(1 for _ in Path(tempfile.gettempdir()).iterdir()),
        "rss_kib": proc.rss_kib(os.getpid()),
    }


def main() -> None:
    series: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        spec = desktop_env(Path(folder))
        for _ in range(EPISODES):
            with from_config(spec, fast_io=True) as env:
                env.reset()
                env.step({"mouse": {"left_click": [960, 540]}})
            for key, value in counts().items():
                series.setdefault(key, []).append(value)
    summary = {f"{key}_growth": series[key][-1] - series[key][WARM_UP] for key in series if key != "rss_kib"}
    summary["rss_growth_mib"] = round((series["rss_kib"][-1] - series["rss_kib"][WARM_UP]) / 1024, 2)
    summary["episodes"] = EPISODES
    conditions = f"growth from episode {WARM_UP} to the last; a fresh world each"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
