"""Sixteen local worlds at once: all ready, nothing shared that may not be shared."""

from __future__ import annotations

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gym_anything import from_config
from tests.bench.worlds import desktop_env, idle_pss_mib

WORLDS = 16


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spec = desktop_env(Path(folder))
        envs = [from_config(spec) for _ in range(WORLDS)]
        try:
            begin = time.perf_counter()
            with ThreadPoolExecutor(WORLDS) as threads:
                observations = list(threads.map(lambda e: e.reset(), envs))
            took = time.perf_counter() - begin
            for number, env in enumerate(envs):
                env.runner.exec_capture(f"echo {number} > /tmp/own")
            own = [env.runner.exec_capture("cat /tmp/own").strip() for env in envs]
            memory = sum(idle_pss_mib(env) for env in envs)
        finally:
            for env in envs:
                env.close()
    summary = {
        "worlds_ready": sum("screen" in o for o in observations),
        "worlds_with_own_files": sum(value == str(n) for n, value in enumerate(own)),
        "all_ready_s": round(took, 2),
        "pss_in_all_mib": round(memory, 1),
    }
    print(json.dumps({"summary": summary, "series": {}, "conditions": f"{WORLDS} resets at once in one process"}))


if __name__ == "__main__":
    main()
