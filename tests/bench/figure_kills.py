"""`kill -9` of a world's owner at random moments of its life, each followed by `gym-anything cache gc`.

Worlds of four kinds; QEMU's are clones of a machine that was booted before, and live beside the others, since they spend
much of their lives waiting. A kind whose needs are not met here is left out, with the reason.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gym_anything.runtime.runners.registry import resolve_runner
from tests.apptainer_backend import choose_program
from tests.docker_engine import missing, running_engine
from tests.kills import PHASES, Killer

RUNNERS = (("qemu_native",), ("local", "docker", "apptainer"))
"""Those of a row one after the other; the rows beside each other."""
KILLS = 40
"""Of each kind: well over a hundred in all."""


def measure(key: str) -> tuple[dict[str, float], dict[str, list[Any]]]:
    """Kill the lives of one kind of worlds; returns the summary and the series of it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ga-kills-")))
        if key == "docker":
            stack.enter_context(running_engine())
        killer = Killer(key, folder)
        killer.calibrate()
        with killer.bystanders() as touched:
            kills = [killer.kill() for _ in range(KILLS)]
    for kill in kills:
        if kill.left:
            print(f"{key}: {kill}", flush=True)
    phases = Counter(kill.phase for kill in kills)
    summary = {
        f"{key}_kills": len(kills),
        f"{key}_left": sum(len(kill.left) for kill in kills),
        f"{key}_others_touched": len(touched),
        f"{key}_found_by_gc": sum(kill.orphans for kill in kills),
        f"{key}_gc_s_p50": round(statistics.median(kill.gc_s for kill in kills), 3),
        **{f"{key}_kills_in_{phase}": phases[phase] for phase in PHASES},
    }
    return summary, {f"{key}_after_s": [round(kill.after_s, 4) for kill in kills]}


def lacks(key: str) -> str:
    """Say why there are no worlds of a kind here; "" when there are."""
    return missing() if key == "docker" else str(resolve_runner(key).doctor_status()["reason"] or "")


def main() -> None:
    choose_program()
    skipped = {key: reason for row in RUNNERS for key in row if (reason := lacks(key))}
    summary: dict[str, float] = {}
    series: dict[str, list[Any]] = {}
    with ThreadPoolExecutor(len(RUNNERS)) as rows:
        found = rows.map(lambda row: [measure(key) for key in row if key not in skipped], RUNNERS)
        for some, more in (one for row in found for one in row):
            summary |= some
            series |= more
    conditions = (
        "start, clicks, checkpoint, restart from it, stop of a 640x480 desktop; killed in a phase chosen at random"
    )
    left_out = "".join(f"; {key} left out: {reason}" for key, reason in skipped.items())
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions + left_out}))


if __name__ == "__main__":
    main()
