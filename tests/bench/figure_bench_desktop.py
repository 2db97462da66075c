"""`gym-anything bench desktop`: ours beside the ways in use elsewhere, on Xvnc and Xvfb."""

from __future__ import annotations

import json
import re

from gym_anything.measure.desktop_report import CONDITIONS, measure_desktop, servers_here, unit_of

ROUNDS = 20


def key_of(server: str, series: str, way: str) -> str:
    """Return a key with its unit at the end."""
    unit = {"%": "percent", "MiB": "mib"}.get(unit_of(series), "ms")
    text = f"{server} {series.removesuffix(', ' + unit_of(series))} {way}"
    return re.sub(r"\W+", "_", text.lower()).strip("_") + f"_{unit}"


def main() -> None:
    summary, samples = {}, {}
    for report in measure_desktop(servers_here(), ROUNDS):
        for series, ways in report.to_dict()["series"].items():
            for way, found in ways.items():
                key = key_of(report.server, series, way)
                samples[key] = found["samples"]
                summary[key + "_p50" if len(found["samples"]) > 1 else key] = found["p50"]
    print(json.dumps({"summary": summary, "series": samples, "conditions": CONDITIONS}))


if __name__ == "__main__":
    main()
