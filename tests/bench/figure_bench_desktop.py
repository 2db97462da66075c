"""`gym-anything bench desktop`: ours beside the ways in use elsewhere, on Xvnc and Xvfb."""

from __future__ import annotations

import json
from typing import Any

from gym_anything.measure.desktop_report import Effort, document, measure_desktop, servers_here

EFFORT = Effort(rounds=20)
_UNITS = {"%": "percent", "MiB": "mib"}


def summary_and_samples(found: dict[str, Any]) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Return a record's summary and series: `xvnc_see_unchanged_ours_ms_p50`, …, from what `--json` prints."""
    summary: dict[str, Any] = {}
    samples: dict[str, list[float]] = {}
    for server in found["servers"]:
        for key, series in server["series"].items():
            for way, values in series["ways"].items():
                prefix = f"{server['server'].lower()}_{key}_{way}"
                name = f"{prefix}_{_UNITS.get(series['unit'], 'ms')}"
                samples[name] = values["samples"]
                if len(values["samples"]) == 1:
                    summary[name] = values["p50"]
                else:
                    summary |= {f"{name}_{statistic}": values[statistic] for statistic in ("p50", "p95", "min")}
                if values["times_ours"] is not None:
                    summary[f"{prefix}_times_ours"] = values["times_ours"]
                if values["times_ours_95"] is not None:
                    low, high = values["times_ours_95"]
                    summary |= {f"{prefix}_times_ours_low": low, f"{prefix}_times_ours_high": high}
                if values["arrived_fewest"] is not None:
                    summary[f"{prefix}_characters_arrived_fewest"] = values["arrived_fewest"]
                summary[f"{prefix}_wrong_turns"] = values["wrong"]
    return summary, samples


def names(found: dict[str, Any]) -> dict[str, Any]:
    """Return titles of series and names of ways, for the chart; the values stand in the summary."""
    every: dict[str, Any] = {}
    for server in found["servers"]:
        for key, series in server["series"].items():
            named = every.setdefault(key, {**series, "ways": {}})
            named["ways"] |= {way: values["name"] for way, values in series["ways"].items()}
    return {"names": every, "skipped": {server["server"]: server["skipped"] for server in found["servers"]}}


def main() -> None:
    found = document(measure_desktop(servers_here(), EFFORT), EFFORT)
    summary, samples = summary_and_samples(found)
    answer = {"summary": summary, "series": samples, "conditions": found["conditions"], **names(found)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
