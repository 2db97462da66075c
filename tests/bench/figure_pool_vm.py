"""A pool of 128 forked machines, ten minutes of light steps; and 256 that live and answer."""

from __future__ import annotations

import json

from gym_anything.measure.real_pool_series import PoolRequest, measure_pool
from gym_anything.runtime.qemu.accelerator import choose_accelerator

COUNT, MANY = 128, 256


def main() -> None:
    found = measure_pool(PoolRequest("vm", COUNT, stay_s=600, step_every_s=15))
    summary = {key: value for key, value in found.to_dict().items() if key not in ("kind", "failures")}
    many = measure_pool(PoolRequest("vm", MANY, stay_s=0)).to_dict()
    summary |= {f"many_{key}": many[key] for key in ("count", "ready_s", "pss_gb", "host_gb", "answered")}
    series = {"check_out_ms": [round(value, 4) for value in found.check_out_ms]}
    accelerator = choose_accelerator().accelerator
    conditions = (
        f"debian-desktop-vm, 1 processor, 1 GiB each, forked from one, {accelerator}; a step of each every 15 s"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
