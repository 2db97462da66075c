"""What a pool costs beyond its worlds, from one simulated replica to 1,024, at a second a step, on shards."""

from __future__ import annotations

import json

from gym_anything.measure.pool_series import ScaleRequest, measure_scale

COUNTS = (1, 16, 128, 1024)


def main() -> None:
    request = ScaleRequest()
    found = measure_scale(COUNTS, request)
    facts = [one.to_dict() for one in found]
    summary = {f"at_{one['count']}_{key}": one[key] for one in facts for key in one if key != "count"}
    series = {key: [one[key] for one in facts] for key in facts[0]}
    series |= {f"added_ms_{one.count}": [round(value, 3) for value in one.added_ms] for one in found}
    conditions = (
        f"simulated worlds that take {request.step_s:g} s a step, {request.steps} steps of each through the data server, begun evenly "
        "over one step; a batch: all at once. Processor time of all processes, less what the worlds take by themselves"
    )
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions}))


if __name__ == "__main__":
    main()
