"""A pool of 128 local desktops: until all are ready, their memory, check-out, a minute of light steps."""

from __future__ import annotations

import json

from gym_anything.measure.real_pool_series import PoolRequest, measure_pool

COUNT = 128


def main() -> None:
    found = measure_pool(PoolRequest("desktop", COUNT, stay_s=60, step_every_s=10))
    summary = {key: value for key, value in found.to_dict().items() if key not in ("kind", "failures")}
    series = {"check_out_ms": [round(value, 4) for value in found.check_out_ms]}
    conditions = f"{COUNT} desktops of 1280×800 in one pool, state managers in shards; every one looked at every 10 s"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
