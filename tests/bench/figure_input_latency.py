"""`gym-anything bench input-latency` in every world, one after the other: both boundaries, and what applications say came."""

from __future__ import annotations

import json
import sys
from typing import Any

from gym_anything.measure.input_latency.report import CONDITIONS, Request, measure_input_latency
from tests.apptainer_backend import choose_program
from tests.docker_engine import running_engine

RUNNERS = ("local", "docker", "apptainer", "qemu_native")
REQUEST = Request(rounds=50, repetitions=50)


def main() -> None:
    choose_program()
    summary: dict[str, Any] = {}
    series: dict[str, list[float]] = {}
    checks: list[bool] = []
    with running_engine():
        for runner in RUNNERS:
            found = measure_input_latency(runner, REQUEST, lambda what, share: None).to_dict()
            if found["left_out"]:
                raise SystemExit(f"{runner}: left out: {found['left_out']}")
            for check in found["checks"]:
                print(f"{runner}: {check}", file=sys.stderr, flush=True)
                checks.append(check["ok"])
            for boundary, actions in found["boundaries"].items():
                for action, samples in actions.items():
                    name = f"{runner}_{boundary}_{action}_ms"
                    series[name] = samples["samples"]
                    summary |= {f"{name}_{key}": samples[key] for key in ("p50", "p95", "max")}
    summary |= {"checks": len(checks), "checks_percent": round(100 * sum(checks) / len(checks), 2)}
    print(json.dumps({"summary": summary, "series": series, "conditions": f"1280x800, fast path, {CONDITIONS}"}))


if __name__ == "__main__":
    main()
