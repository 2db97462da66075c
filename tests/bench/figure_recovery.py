"""128 worlds with a task at work in each, all killed at once: forked machines, and local desktops."""

from __future__ import annotations

import json
from typing import Any

from gym_anything.measure.recovery_series import RecoveryRequest, measure_recovery

COUNT = 128


def main() -> None:
    summary: dict[str, Any] = {}
    series: dict[str, list[float]] = {}
    for kind in ("vm", "desktop"):
        found = measure_recovery(RecoveryRequest(kind, COUNT))
        plain = found.to_dict()
        summary |= {f"{kind}_{key}": plain[key] for key in ("back_s", "back_s_p50", "finished", "lost", "attempts")}
        series[f"{kind}_back_each_s"] = [round(value, 3) for value in sorted(found.back_each_s)]
    think_s = RecoveryRequest("vm").step_every_s
    conditions = (
        f"{COUNT} of each, machines with 1 processor and 1 GiB, tasks that think {think_s:g} s between steps, SIGKILL to "
        "every process of the worlds; back: the task has done a step on a fresh world"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
