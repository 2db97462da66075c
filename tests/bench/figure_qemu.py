"""QEMU worlds with 1 GiB: booted, saved, forked by stages beside the bare mechanism, reset, 128 forks at once."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from typing import Any

from gym_anything import from_config
from gym_anything.measure.fork_series import ForkRequest, measure_forks, world_spec

BOOTS = 3
REQUEST = ForkRequest(rounds=20, count=128)


def spec(artifacts: str, **options: Any) -> dict[str, Any]:
    """Return the spec of the worlds that are measured. Args: options: its ``runner_options``."""
    return world_spec(1.0, artifacts) | {"runner_options": options}


def cold_boots() -> list[float]:
    """Return how long worlds take that are booted from their disk, in seconds."""
    taken = []
    with tempfile.TemporaryDirectory() as artifacts:
        for _ in range(BOOTS):
            with from_config(spec(artifacts, begin="boot"), fast_io=True) as env:
                began = time.perf_counter()
                env.reset()
                taken.append(round(time.perf_counter() - began, 3))
    return taken


def answer(request: ForkRequest, boots: list[float]) -> str:
    """Measure forks and return a figure's line."""
    found = measure_forks(request)
    summary, series = found.summary(), dict(found.series)
    if boots:
        summary |= {"cold_boot_s_p50": statistics.median(boots), "cold_boot_s_max": max(boots)}
        series["cold_boot_s"] = boots
    conditions = (
        f"debian-desktop-vm, 2 processors, {request.memory_gib:g} GiB, accelerator {found.accelerator}, fast mode, of many "
        "at once each stands still between its first answer and its use, "
        "pages that are equal by chance are not merged (KSM off); bare: QEMU, its monitor and one connection to the "
        "guest, by turns in the same run"
    )
    return json.dumps({"summary": summary, "series": series, "conditions": conditions})


def main() -> None:
    print(answer(REQUEST, cold_boots()))


if __name__ == "__main__":
    main()
